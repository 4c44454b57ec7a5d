"""Request facts: parsed once, ambiguous never (design.md section 3)."""
