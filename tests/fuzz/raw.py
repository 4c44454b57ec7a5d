"""A request as bytes in parts, and its text form: what fuzzers mutate and the corpus keeps.

The lines are method, scheme, authority of the connection, target, then `name: value` fields up to an empty line, then the body.
A field called `:authority` is HTTP/2's. SUB (0x1A) stands for LF, so that LF can be anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

Fields = tuple[tuple[bytes, bytes], ...]

PSEUDO = b":authority"
_LF = b"\x1a"


@dataclass(frozen=True, slots=True)
class Raw:
    """One request as a transport saw it; `where` is what the connection is for, as CONNECT or the absolute form wrote it."""

    method: bytes
    scheme: str
    where: bytes
    target: bytes
    fields: Fields = ()
    body: bytes = b""

    @classmethod
    def parse(cls, data: bytes) -> Raw:
        """Any bytes are a request: what is missing is empty."""
        method, scheme, where, target, rest = [*data.split(b"\n", 4), b"", b"", b"", b""][:5]
        head, _, body = (b"\n" + rest).partition(b"\n\n")
        fields = tuple(
            (_text(name), _text(value)) for name, _, value in (line.partition(b": ") for line in head.split(b"\n")[1:])
        )
        return cls(_text(method), _text(scheme).decode("latin-1"), _text(where), _text(target), fields, body)

    @property
    def text(self) -> bytes:
        """What `parse` reads."""
        lines = [self.method, self.scheme.encode("latin-1"), self.where, self.target]
        lines += [name + b": " + value for name, value in self.fields]
        return b"".join(line.replace(b"\n", _LF) + b"\n" for line in lines) + b"\n" + self.body

    @property
    def pseudo(self) -> bytes | None:
        """The first `:authority`."""
        return next((value for name, value in self.fields if name == PSEUDO), None)

    @property
    def headers(self) -> Fields:
        """The fields without it."""
        return tuple(field for field in self.fields if field[0] != PSEUDO)


def _text(line: bytes) -> bytes:
    return line.replace(_LF, b"\n")
