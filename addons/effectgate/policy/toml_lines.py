"""On which line each key of a TOML text stands. tomli has parsed the text before, so only its layout is read here."""

from __future__ import annotations

import re
from collections.abc import Iterator

from effectgate.policy.document import KeyPath

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'", re.DOTALL)
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\n]+")
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|.)")
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b"}


def lines_of(text: str) -> dict[KeyPath, int]:
    """The line, from 1, of every key, table and list item of a valid TOML text."""
    return _Layout(text).lines


class _Layout:
    """One pass over the text. `at` is the place in it; `table` the path that plain keys belong to."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.line, self.counted = text, 0, 1, 0
        self.lines: dict[KeyPath, int] = {}
        self.rows: dict[KeyPath, int] = {}  # arrays of tables -> index of the last one
        self.table: KeyPath = ()
        while self._more():
            if self.text[self.at] == "[":
                self._header()
            else:
                self._pair(self.table)

    def _more(self) -> bool:
        self._skip(_SPACE)
        return self.at < len(self.text)

    def _skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found.group() if found else ""

    def _note(self, path: KeyPath) -> None:
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        self.lines.setdefault(path, self.line)

    def _header(self) -> None:
        row = self.text.startswith("[[", self.at)
        start = self.at
        self.at += 2 if row else 1
        *outer, last = self._key()
        path: KeyPath = ()
        for part in outer:
            path = self._latest((*path, part))
        path = (*path, last)
        if row:
            self.rows[path] = self.rows.get(path, -1) + 1
            path = (*path, self.rows[path])
        self._skip(_SPACE)
        self.at, end = start, self.at + (2 if row else 1)
        self._note(path)
        self.at, self.table = end, path

    def _latest(self, path: KeyPath) -> KeyPath:
        return (*path, self.rows[path]) if path in self.rows else path

    def _key(self) -> list[str]:
        return list(self._key_parts())

    def _key_parts(self) -> Iterator[str]:
        while True:
            self._skip(_SPACE)
            quoted = self._skip(_STRING)
            yield _unquoted(quoted) if quoted else self._skip(_BARE)
            self._skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return
            self.at += 1

    def _pair(self, table: KeyPath) -> None:
        start = self.at
        parts = self._key()
        end, self.at = self.at, start
        for depth in range(len(parts)):
            self._note((*table, *parts[: depth + 1]))
        self.at = end + 1  # the `=`
        self._value((*table, *parts))

    def _value(self, path: KeyPath) -> None:
        self._skip(_SPACE)
        opening = self.text[self.at]
        if opening == "[":
            self._items(path)
        elif opening == "{":
            self._inline(path)
        elif not self._skip(_STRING):
            self._skip(_SCALAR)

    def _items(self, path: KeyPath) -> None:
        self.at += 1
        index = 0
        while self._inside("]"):
            self._note((*path, index))
            self._value((*path, index))
            index += 1

    def _inline(self, path: KeyPath) -> None:
        self.at += 1
        while self._inside("}"):
            self._pair(path)

    def _inside(self, closing: str) -> bool:
        """Step over one comma; False, past the closing character, at the end."""
        self._skip(_SPACE)
        if self.text[self.at] == ",":
            self.at += 1
            self._skip(_SPACE)
        if self.text[self.at] != closing:
            return True
        self.at += 1
        return False


def _unquoted(text: str) -> str:
    if text[0] == "'":
        return text[1:-1]
    return _ESCAPE.sub(lambda found: _character(found.group(1)), text[1:-1])


def _character(escape: str) -> str:
    return chr(int(escape[1:], 16)) if len(escape) > 1 else _ESCAPED.get(escape, escape)
