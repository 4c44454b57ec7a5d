"""Services as OpenAPI 3 documents describe them (docs/packs.md, "Importing"). Labels go by method, Kubernetes' by its own verbs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from effectgate.importers.access import access_of
from effectgate.importers.operation import Call, Operation, Service
from effectgate.importers.paths import literals, pack_path
from effectgate.importers.verbs import METHOD_VERBS, Act, act_of, is_verb
from effectgate.importers.words import singular, split

Json = Mapping[str, Any]

_METHODS = ("get", "put", "post", "delete", "patch", "head", "options")
_SAFE = ("get", "head", "options")
_VERSION = re.compile(r"v\d[\w.]*")


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read one document. `server` replaces the first of its servers; `containers` are segments that only hold other things.

    `slashes` are parameters whose values may have an encoded slash in them.
    """

    service: Service
    server: str = ""
    containers: frozenset[str] = field(default_factory=frozenset)
    slashes: frozenset[str] = field(default_factory=frozenset)


def read_openapi(document: Json, reading: Reading) -> Iterator[Operation]:
    """Every operation of a document."""
    server = urlsplit(reading.server or document["servers"][0]["url"])
    for template, item in document["paths"].items():
        bare = template.partition("?")[0].partition("#")[0]
        for method in _METHODS:
            if method in item:
                yield _operation(reading, server.netloc, server.path.rstrip("/"), bare, method, item[method])


def _operation(reading: Reading, host: str, base: str, template: str, method: str, about: Json) -> Operation:
    verb, thing = _verb_and_thing(template, method, reading.containers)
    texts = (*literals(template), about.get("operationId") or "")
    words = frozenset(singular(word) for text in texts for word in split(text))
    slashes = any(f"{{{name}}}" in template for name in reading.slashes)
    call = Call(method.upper(), host, pack_path(base + template), encoded_slash=slashes)
    access = access_of(verb, words, reads=_reads(method, about))
    return Operation(
        reading.service, about.get("operationId") or f"{method} {template}", verb, thing, access, (call,), words=words
    )


def _reads(method: str, about: Json) -> bool:
    verb = about.get("x-kubernetes-action")
    return method in _SAFE and (verb is None or verb in ("get", "list", "watch", "watchlist"))


def _verb_and_thing(template: str, method: str, containers: frozenset[str]) -> tuple[str, tuple[str, ...]]:
    parts = [re.sub(r"\.\w+$", "", part) for part in template.split("/") if part and not _VERSION.fullmatch(part)]
    names = [part for part in parts if "{" not in part]
    verb = METHOD_VERBS[method.upper()]
    if method == "post" and parts and "{" in parts[-1]:
        verb = "update"
    if names and parts[-1] == names[-1]:
        first, *rest = split(names[-1]) or ("",)
        if _is_deed(first, method) and (rest or len(names) > 1):
            verb, names = first, [*names[:-1], *(["-".join(rest)] if rest else [])]
    return verb, _thing([name for name in names if name not in containers] or names)


def _is_deed(word: str, method: str) -> bool:
    """Whether a path's last segment is a verb, such as `cancel`: behind a GET only one that reads can be."""
    return is_verb(word) and (method not in _SAFE or act_of(word) in (Act.READ, Act.ASK, Act.EXPORT))


def _thing(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(singular(word) for name in names[-2:] for word in split(name))
