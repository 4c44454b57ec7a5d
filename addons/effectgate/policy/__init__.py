"""Pure policy: facts, packs, catalog, grants and the decision. No I/O, no clock, no randomness."""
