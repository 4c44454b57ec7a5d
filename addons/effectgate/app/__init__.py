"""The wiring: files to policy, policy to boundary, boundary to proxy and API. Only `cli` and `egress.py` import it."""
