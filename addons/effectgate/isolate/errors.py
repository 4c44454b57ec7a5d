"""The one error of this room."""

from __future__ import annotations


class IsolationError(Exception):
    """A command cannot be held as asked; the message ends with what to do about it."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(f"{message}; {fix}")
