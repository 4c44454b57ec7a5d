"""From vendors' path templates to the paths of packs (design.md section 2, Paths)."""

from __future__ import annotations

import re
from collections.abc import Iterator

_HOLE = re.compile(r"\{([^{}]*)\}")


def pack_path(template: str) -> str:
    """The path with its parameters named as packs name them, each once; a greedy last one is `*`, two in one segment are one."""
    parts = template.split("/")
    taken: dict[str, int] = {}
    return "/".join(_segment(part, last=at == len(parts) - 1, taken=taken) for at, part in enumerate(parts))


def _segment(part: str, *, last: bool, taken: dict[str, int]) -> str:
    holes = _HOLE.findall(part)
    if not holes:
        return part
    if last and part == f"{{{holes[0]}}}" and holes[0].endswith("+"):
        return "*"
    if len(holes) > 1:
        first = part.index("{")
        return part[:first] + _hole(holes[0], taken) + part[part.rindex("}") + 1 :]
    return _HOLE.sub(_hole(holes[0], taken), part)


def _hole(name: str, taken: dict[str, int]) -> str:
    plain = parameter(name)
    taken[plain] = taken.get(plain, 0) + 1
    return f"{{{plain}}}" if taken[plain] == 1 else f"{{{plain}_{taken[plain]}}}"


def parameter(name: str) -> str:
    """The name as packs write it: small letters, digits and `_`, beginning with a letter."""
    plain = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()).strip("_")
    return plain if plain[:1].isalpha() else f"p{plain}"


def literals(template: str) -> Iterator[str]:
    """The segments without parameters, in order."""
    return (part for part in template.split("/") if part and "{" not in part)


def parameters(template: str) -> list[str]:
    """The names of the parameters as the vendor writes them."""
    return _HOLE.findall(template)
