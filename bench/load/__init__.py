"""What bench/memory.py and bench/soak.py share: an origin that costs little, a client of raw streams, and a gate before them."""
