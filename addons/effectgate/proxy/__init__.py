"""The proxy room: flow to facts, answer to response, and the guard on addresses. The only user of mitmproxy (design.md section 10)."""
