"""End to end: a real `effectgate serve`, real clients, origins on 127.0.0.1."""
