"""The hazards of mitmproxy as data, and the tests that hold them."""
