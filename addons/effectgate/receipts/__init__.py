"""Receipts: the canonical record (pure) and the stores that make it durable."""
