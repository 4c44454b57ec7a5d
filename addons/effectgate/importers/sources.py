"""Reading vendors' descriptions from files: the only module of this room that touches the disk."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from effectgate.importers import botocore, discovery, openapi
from effectgate.importers.operation import Operation, Service
from effectgate.importers.recipe import Recipe

Json = Mapping[str, Any]


class SourceError(ValueError):
    """A description that cannot be read; the text says which file, what is wrong, and what to do."""


def read_operations(recipe: Recipe, files: Sequence[Path], labels: Path | None) -> list[Operation]:
    """Every operation of the files, by the recipe's kind of description."""
    reader = {"botocore": _botocore, "discovery": _discovery, "openapi": _openapi}[recipe.kind]
    return list(reader(recipe, files, {} if labels is None else _json(labels)))


def _botocore(recipe: Recipe, files: Sequence[Path], definition: Json) -> Iterator[Operation]:
    newest = {file.parent.parent.name: file for file in sorted(files)}
    for directory, file in newest.items():
        description = _json(file)
        rules = next(file.parent.glob("endpoint-rule-set-1.json*"), None)
        about = description["metadata"]
        service = botocore.service_of(directory, about, recipe.names)
        levels = botocore.Levels.of(definition, about)
        if directory not in recipe.left_out:
            yield from botocore.read_botocore(description, _json(rules) if rules else None, service, levels)


def _discovery(recipe: Recipe, files: Sequence[Path], definition: Json) -> Iterator[Operation]:
    services: dict[str, Service] = {}
    for file in sorted(files):
        document = _json(file)
        if "rootUrl" not in document:  # the cache's own index
            continue
        service = services.setdefault(document["name"], discovery.service_of(document, recipe.names))
        if document["name"] not in recipe.left_out:
            yield from discovery.read_discovery(document, service)


def _openapi(recipe: Recipe, files: Sequence[Path], definition: Json) -> Iterator[Operation]:
    for file in sorted(files):
        document = _json(file)
        name = recipe.name or document.get("info", {}).get("title", recipe.pack)
        reading = openapi.Reading(
            Service(recipe.pack, name), recipe.server, frozenset(recipe.containers), frozenset(recipe.slashes)
        )
        yield from openapi.read_openapi(document, reading)


def _json(file: Path) -> Json:
    try:
        content = file.read_bytes()
        value = json.loads(gzip.decompress(content) if file.suffix == ".gz" else content)
    except (OSError, ValueError, EOFError) as error:
        raise SourceError(
            f"{file} cannot be read as JSON ({error}); give the vendor's own file, .json or .json.gz"
        ) from error
    if not isinstance(value, dict):
        raise SourceError(f"{file} is no JSON object; give the vendor's own description")
    return value
