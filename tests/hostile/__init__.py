"""Hostile requests and good ones as data, played against a running proxy."""
