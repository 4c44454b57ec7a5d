"""`effectgate run` in real namespaces: what a command inside reaches, sees and leaves behind."""
