"""`{[text]*70000}` in a row stands for so many times the text."""

from __future__ import annotations

import re

_REPEATED = re.compile(r"\{\[(.*?)\]\*(\d+)\}", re.DOTALL)


def unfold(text: str) -> str:
    """The text that is meant."""
    return _REPEATED.sub(lambda found: found[1] * int(found[2]), text)
