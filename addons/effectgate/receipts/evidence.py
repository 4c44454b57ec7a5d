"""What a receipt keeps of a request: bound by hashes, readable as configured, secrets only as HMACs. Pure (design.md section 5)."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import unquote_plus

from effectgate.policy.facts import RequestFacts
from effectgate.policy.refusal import Target
from effectgate.policy.verdict import Verdict

PathMode = Literal["full", "template", "hash"]

MAX_PATH: Final = 2048
# Longer segments of a request that no effect names may be tokens: of such a request nothing says which are.
MAX_UNNAMED_SEGMENT: Final = 20
MAX_PAIRS: Final = 64

# Never kept, not even as an HMAC with the others: credentials and cookies (design.md section 5).
CREDENTIAL_HEADERS: Final = frozenset(
    {"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-auth-token", "x-amz-security-token"}
)
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.\[\]$-]{1,40}")
_PLAIN_HOST = re.compile(r"[A-Za-z0-9_.:-]{0,253}")
_PLAIN_METHOD = re.compile(r"[A-Za-z-]{0,20}")
_QUOTED = re.compile(r"""['"`].*['"`]""", re.DOTALL)
_SIGV4_KEY = re.compile(r"AWS4-HMAC-SHA256 +Credential=([^/,\s]+)")


_Keep = Callable[[int, str], bool]  # (place, segment) -> whether it may be read


@dataclass(frozen=True, slots=True)
class Evidence:
    """Makes the `args` of receipts. `key` is the installation's HMAC key, `paths` the setting `receipts.path`."""

    key: bytes
    paths: PathMode = "full"

    def request(self, principal: str, facts: RequestFacts, verdict: Verdict) -> dict[str, object]:
        """The `args` of a decision on facts."""
        args = self._target(principal, facts)
        args |= self._path(facts.path, verdict)
        args |= {"query": self._query(facts.query or ""), "headers_hmac": self._headers(facts.headers)}
        args["body"], args["inspected"] = self._body(facts)
        if facts.websocket:
            args["websocket"] = True
        return args

    def attempt(self, principal: str, target: Target, reason: str) -> dict[str, object]:
        """The `args` of a refusal that was decided before there were facts. Quotations are cut from the reason: they may hold secrets."""
        args = self._target(principal, target)
        path = target.path.partition("?")[0]
        args |= self._path(path, None)
        args["refused"] = _QUOTED.sub("…", reason)[:200]
        args["inspected"] = "headers" if path else "host"
        return args

    def credentials(self, facts: RequestFacts) -> frozenset[str]:
        """The tags of the request's own credentials, for grant entries that pin one (design.md section 2, `credential`)."""
        return frozenset(
            credential_tag(self.key, value)
            for name, value in facts.headers
            if name in ("authorization", "x-api-key")
            for value in _credential_values(value)
        )

    def _target(self, principal: str, target: Target) -> dict[str, object]:
        host = target.host if _PLAIN_HOST.fullmatch(target.host) else self._tag("host", target.host)
        method = target.method if _PLAIN_METHOD.fullmatch(target.method) else self._tag("method", target.method)
        return {
            "type": "http_request",
            "principal": principal,
            "method": method,
            "scheme": target.scheme if target.scheme in ("http", "https") else "",
            "host": host,
            "port": target.port,
        }

    def _path(self, path: str, verdict: Verdict | None) -> dict[str, object]:
        text = self._readable_path(path, verdict)
        kept = text[:MAX_PATH]
        return {"path": kept} if kept == path else {"path": kept, "path_hmac": self._tag("path", path)}

    def _readable_path(self, path: str, verdict: Verdict | None) -> str:
        if self.paths == "hash":
            return ""
        if verdict is None or not verdict.recognised:
            return "" if self.paths == "template" else self._covered(path, lambda at, s: len(s) <= MAX_UNNAMED_SEGMENT)
        if self.paths == "template":
            return verdict.template
        if verdict.secret:
            plain = _literals(verdict.template)
            return self._covered(path, lambda at, s: plain.get(at) == s)
        return path

    def _covered(self, path: str, keep: _Keep) -> str:
        """The path with every segment that `keep(place, segment)` does not want replaced by its tag."""
        segments = path[: 4 * MAX_PATH].split("/")
        return "/".join(s if keep(at, s) else self._tag("segment", s)[:21] for at, s in enumerate(segments))

    def _query(self, query: str) -> list[list[str]]:
        """Names, and values as HMACs of their decoded text; a name that may be a value itself is a tag too. Beyond MAX_PAIRS one tag."""
        parts = query.split("&") if query else []
        pairs = [self._pair(part) for part in parts[:MAX_PAIRS]]
        return [*pairs, ["…", self._tag("query", query)]] if len(parts) > MAX_PAIRS else pairs

    def _pair(self, part: str) -> list[str]:
        name, equals, value = part.partition("=")
        if equals and _PLAIN_NAME.fullmatch(name):
            return [name, self._tag(f"query {name}", unquote_plus(value))]
        return ["…", self._tag("query", part)]

    def _headers(self, headers: Iterable[tuple[str, str]]) -> str:
        lines = [f"{name}:{value}" for name, value in headers if name not in CREDENTIAL_HEADERS]
        return self._tag("headers", "\n".join(lines))

    def _body(self, facts: RequestFacts) -> tuple[dict[str, object], str]:
        if not facts.body.present:
            return {"present": False}, "full"
        if facts.body.content is None:
            return {"present": True}, "headers"
        content = facts.body.content
        return {"present": True, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}, "full"

    def _tag(self, kind: str, text: str) -> str:
        message = f"{kind}\0{text}".encode("utf-8", "surrogatepass")
        return "hmac:" + hmac.digest(self.key, message, "sha256").hex()


def credential_tag(key: bytes, value: str) -> str:
    """The tag that pins one credential: an Authorization or x-api-key value, or a SigV4 access key id, under the installation key."""
    return "sha256:" + hmac.digest(key, b"credential\0" + value.encode("utf-8", "surrogatepass"), "sha256").hex()


def _credential_values(value: str) -> tuple[str, ...]:
    found = _SIGV4_KEY.match(value)
    return (value, found[1]) if found else (value,)


def _literals(template: str) -> dict[int, str]:
    """The segments of a path pattern that bind nothing, by place; none from the first `*` on, whose extent is unknown."""
    plain: dict[int, str] = {}
    for at, segment in enumerate(template.split("/")):
        if "*" in segment:
            break
        if "{" not in segment:
            plain[at] = segment
    return plain
