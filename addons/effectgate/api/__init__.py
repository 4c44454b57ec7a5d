"""The HTTP API of the boundary: health and readiness now, submit and complete later."""
