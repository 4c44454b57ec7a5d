"""Fuzzing: README.md."""
