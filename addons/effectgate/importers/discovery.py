"""Google's APIs as their discovery documents describe them (docs/packs.md, "Importing"). Labels go by method: a GET reads.

The version in a path is left open (`/v{version}/`): the same path of another version is the same resource.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from effectgate.importers.access import access_of
from effectgate.importers.operation import Call, Operation, Service
from effectgate.importers.paths import pack_path
from effectgate.importers.verbs import ACCESS_QUESTION, object_of, parted
from effectgate.importers.words import singular, split

Json = Mapping[str, Any]

# Resources that only hold the others.
_CONTAINERS = frozenset(
    {
        "projects",
        "locations",
        "organizations",
        "folders",
        "global",
        "v1",
        "accounts",
        "customers",
        "enterprises",
        "properties",
        "users",
        "namespaces",
    }
)
_VERSION = re.compile(r"/(?:v\d+[a-z0-9_]*|alpha|beta)(?=/|$)")


def service_of(document: Json, names: Mapping[str, str]) -> Service:
    """The service; `names` has those that people know by another name than the title of the document."""
    title = re.sub(r"\s+(API|Service)$", "", document.get("title") or document["name"])
    return Service(document["name"], names.get(document["name"]) or re.sub(r"\s*API\b", "", title).strip())


def read_discovery(document: Json, service: Service) -> Iterator[Operation]:
    """Every method of a discovery document."""
    host = urlsplit(document["rootUrl"]).hostname or ""
    for method in _methods(document):
        *_, chain, name = _chain(method["id"])
        verb, thing = _verb_and_thing(chain, name, method["httpMethod"])
        path = "/" + document["servicePath"] + (method.get("flatPath") or method["path"])
        words = frozenset(singular(word) for text in method["id"].split(".")[1:] for word in split(text))
        reads = method["httpMethod"] == "GET"
        call = Call(method["httpMethod"], host, pack_path(_any_version(path)))
        yield Operation(service, method["id"], verb, thing, access_of(verb, words, reads=reads), (call,), words=words)


def _any_version(path: str) -> str:
    """The path with its version left open; one that stands behind the service's own name may also be called alpha or beta."""
    found = _VERSION.search(path)
    if not found:
        return path
    return path[: found.start()] + ("/{version}" if found.start() else "/v{version}") + path[found.end() :]


def _methods(resource: Json) -> Iterator[Json]:
    yield from resource.get("methods", {}).values()
    for inner in resource.get("resources", {}).values():
        yield from _methods(inner)


def _chain(identifier: str) -> tuple[list[str], str]:
    """The resources of a method's id, outermost first, without those that only hold others, and the method's own name."""
    _, *resources, name = identifier.split(".")
    return [one for one in resources if one not in _CONTAINERS] or resources[-1:], name


def _verb_and_thing(chain: list[str], name: str, method: str) -> tuple[str, tuple[str, ...]]:
    thing = tuple(singular(word) for resource in chain[-2:] for word in split(resource))
    if method == "POST" and name.endswith(("testIamPermissions", "getIamPolicy")):
        return ACCESS_QUESTION, thing
    verb, rest = parted(split(name), method)
    own = object_of(rest)
    return verb, (*thing, *own[:-1], *map(singular, own[-1:]))
