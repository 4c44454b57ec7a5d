"""Origins on 127.0.0.1 that play the public services, and remember every byte they were sent."""
