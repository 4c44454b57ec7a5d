"""The mitmproxy plane: flow -> facts, answer -> response, the address guard."""
