"""Small descriptions in the vendors' formats, and operations made by hand."""

from __future__ import annotations

from typing import Any

from effectgate.importers.operation import Access, Call, Operation, Service

QUEUES = Service("queues", "Queues")


def operation(
    verb: str, *thing: str, access: Access = Access.READ, path: str = "", method: str = "GET", rows: int = 1
) -> Operation:
    """An operation at a path of its own."""
    place = path or f"/{'-'.join((verb, *thing))}"
    call = Call(method, "queues.example.com", place)
    return Operation(QUEUES, f"{verb}-{'-'.join(thing)}", verb, thing, access, (call,), rows)


def service_2(protocol: str, *operations: str, uri: str = "/", method: str = "POST") -> dict[str, Any]:
    """A botocore service description in one protocol."""
    about = {
        "apiVersion": "2012-11-05",
        "endpointPrefix": "queues",
        "protocol": protocol,
        "serviceId": "Queues",
        "targetPrefix": "AmazonQueues",
        "jsonVersion": "1.0",
    }
    return {
        "metadata": about,
        "operations": {name: {"http": {"method": method, "requestUri": uri}} for name in operations},
    }


def openapi_document(paths: dict[str, tuple[str, ...]], server: str = "https://api.example.com/v1") -> dict[str, Any]:
    """An OpenAPI document with these methods at these paths."""
    return {
        "openapi": "3.0.0",
        "info": {"title": "Tickets", "version": "1"},
        "servers": [{"url": server}],
        "paths": {path: {method: {} for method in methods} for path, methods in paths.items()},
    }


def discovery_document(*methods: tuple[str, str, str], version: str = "v1") -> dict[str, Any]:
    """A discovery document with methods of (id, HTTP method, flat path)."""
    return {
        "name": "notes",
        "title": "Notes API",
        "version": version,
        "rootUrl": "https://notes.googleapis.com/",
        "servicePath": "",
        "methods": {name: {"id": name, "httpMethod": method, "flatPath": path} for name, method, path in methods},
    }
