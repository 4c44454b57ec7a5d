"""A nameserver whose answers are scripted and whose questions are counted, and a real `serve` that asks only it."""
