"""Rows of a pack's admits/denies table (design.md section 2, `[[example]]`) and the answers of a catalog to them.

A `request` is `METHOD URL`, `tool NAME`, `command LINE`, or `file read|write|delete PATH`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from effectgate.policy.catalog import Catalog
from effectgate.policy.command import Recognisers
from effectgate.policy.decision import decide
from effectgate.policy.document import KeyPath
from effectgate.policy.facts import EnvelopeError, facts_from_url
from effectgate.policy.grant import Grant, UnknownEffectError, grant_of_ids
from effectgate.policy.submission import Submission, command_line, file_operation, tool_call
from effectgate.policy.vocabulary import Reason

# Bare ids never expire, so any moment will do.
_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)
_ANY_PORT = frozenset({80, 443})


class ExampleError(ValueError):
    """An example that cannot be asked: a grant with an unknown effect, or a request that is none. The text is a sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """One row. `effect` None leaves open which effect answers; the empty text says that none does."""

    grant: tuple[str, ...]
    request: str
    allow: bool
    effect: str | None
    headers: tuple[tuple[str, str], ...]
    body: bytes | None
    path: KeyPath


@dataclass(frozen=True, slots=True)
class Response:
    """What a catalog says to a row. On a denial `effects` are those that it names, else the one that admits."""

    allowed: bool
    effects: tuple[str, ...]
    reason: str = ""

    def fits(self, example: Example) -> bool:
        """Whether the row expects this."""
        if self.allowed is not example.allow:
            return False
        return example.effect is None or example.effect in (self.effects or ("",))


class Examiner:
    """Puts examples to one catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._recognisers = Recognisers(catalog.effects.values())
        self._grants: dict[tuple[str, ...], Grant] = {}

    def ask(self, example: Example) -> Response:
        """The answer to a row. Raises ExampleError."""
        grant = self._grant(example.grant)
        kind, _, rest = example.request.partition(" ")
        if kind == "tool":
            return _of_submission(tool_call(rest, self._recognisers), grant)
        if kind == "command":
            return _of_submission(command_line(rest, self._recognisers), grant)
        if kind == "file":
            op, _, path = rest.partition(" ")
            return _of_submission(file_operation(op, path, self._catalog.effects), grant)
        return self._of_request(kind, rest, example, grant)

    def _grant(self, ids: tuple[str, ...]) -> Grant:
        if ids not in self._grants:
            try:
                self._grants[ids] = grant_of_ids(self._catalog, ids)
            except UnknownEffectError as error:
                raise ExampleError(error.message) from error
        return self._grants[ids]

    def _of_request(self, method: str, url: str, example: Example, grant: Grant) -> Response:
        try:
            facts = facts_from_url(method, url, example.headers, example.body)
        except EnvelopeError as error:
            if "://" not in url:
                raise ExampleError(f"{example.request!r} is not METHOD URL") from error
            return Response(False, (), str(error))
        verdict = decide(self._catalog, grant, facts, now=_ANY_TIME, ports=_ANY_PORT | {facts.port})
        if verdict.allowed:
            return Response(True, (verdict.effect or "",), verdict.reason)
        named = () if verdict.reason_code is Reason.ENVELOPE_INVALID else verdict.would_admit
        return Response(False, tuple(ask.effect for ask in named), verdict.reason)


def _of_submission(submission: Submission, grant: Grant) -> Response:
    held = frozenset(grant.entries)
    effect = submission.admitting(held)
    if effect is not None:
        return Response(True, (effect.id,))
    return Response(False, tuple(effect.id for effect in submission.would_admit(held)))
