"""Effectgate: an egress proxy that decides what an AI agent may do on the network, and proves it.

bytes -> request facts -> effects -> verdict -> receipt. See docs/architecture.md for the rooms and docs/adr for the decisions.
"""

__version__ = "0.1.0"
