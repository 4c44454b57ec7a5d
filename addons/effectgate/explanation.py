"""`explain`: what the boundary would answer, without recording or sending anything (design.md section 7)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from effectgate.policy.catalog import Catalog
from effectgate.policy.decision import decide
from effectgate.policy.facts import EnvelopeError, RequestFacts, facts_from_url
from effectgate.policy.grant import Grant
from effectgate.policy.refusal import proposal_json
from effectgate.policy.verdict import Verdict
from effectgate.policy.vocabulary import Decision, Reason

Headers = tuple[tuple[str, str], ...]


class QuestionError(ValueError):
    """A question that is not a request; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Question:
    """A request as a person writes it. `effects` None: the grant is the caller's, else that of exactly these ids."""

    method: str
    url: str
    headers: Headers = ()
    body: bytes = b""
    effects: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Explainer:
    """A catalogue and the ports that are open, ready to be asked."""

    catalog: Catalog
    ports: frozenset[int]

    def explain(self, question: Question, grant: Grant, now: datetime) -> Verdict:
        """The verdict on a question; an ambiguous request is ENVELOPE_INVALID, as on the wire."""
        try:
            return decide(self.catalog, grant, self._facts(question), now=now, ports=self.ports)
        except EnvelopeError as error:
            return invalid(str(error))

    def _facts(self, question: Question) -> RequestFacts:
        """The facts with the body held as the proxy holds it: only where a candidate shape asks, up to what it asks."""
        facts = facts_from_url(question.method, question.url, question.headers)
        if not question.body:
            return facts
        unread = facts.with_body(None)
        held = self.catalog.inspect_bytes(unread)
        return unread.with_body(question.body, held) if len(question.body) <= held else unread


def invalid(reason: str) -> Verdict:
    """The refusal of something that is no unambiguous request."""
    return Verdict(Decision.DENY, Reason.ENVELOPE_INVALID, reason)


def read_question(line: bytes) -> Question:
    """One line of `explain --batch`. Raises QuestionError."""
    try:
        value = json.loads(line, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise QuestionError(f"the line is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise QuestionError("the line is not a JSON object")
    effects = value.get("effects")
    return Question(
        method=_text(value, "method"),
        url=_text(value, "url"),
        headers=_headers(value.get("headers")),
        body=_body(value),
        effects=None if effects is None else tuple(_texts(effects, "effects")),
    )


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise QuestionError("a member of the line is given twice")
    return dict(pairs)


def _text(value: Mapping[str, object], name: str, default: str | None = None) -> str:
    found = value.get(name)
    if found is None and default is not None:
        return default
    if not isinstance(found, str):
        raise QuestionError(f"{name} is not a text")
    return found


def _body(value: Mapping[str, object]) -> bytes:
    try:
        return _text(value, "body", "").encode()
    except UnicodeEncodeError:
        raise QuestionError("body has half a surrogate pair, which is no text") from None


def _texts(value: object, name: str) -> Iterable[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise QuestionError(f"{name} is not a list of texts")
    return value


def _headers(value: object) -> Headers:
    """Headers as an object (a value may be a list, for a repeated header) or as a list of pairs."""
    if value is None:
        return ()
    pairs = value.items() if isinstance(value, dict) else value
    if not isinstance(pairs, Iterable) or isinstance(pairs, str):
        raise QuestionError("headers is not an object")
    return tuple((name, one) for pair in pairs for name, held in [_pair(pair)] for one in held)


def _pair(pair: object) -> tuple[str, list[str]]:
    name, held = pair if isinstance(pair, list | tuple) and len(pair) == 2 else (None, None)
    values = held if isinstance(held, list) else [held]
    texts = [one for one in values if isinstance(one, str)]
    if not isinstance(name, str) or len(texts) != len(values):
        raise QuestionError("headers has something that is not a text")
    return name, texts


def verdict_json(verdict: Verdict) -> dict[str, object]:
    """One line out of `explain --batch`."""
    return {
        "verdict": str(verdict.verdict),
        "reason_code": str(verdict.reason_code),
        "effect": verdict.effect,
        "recognised": [{"effect": named.effect, "risk": named.risk.word} for named in verdict.recognised],
        "would_admit": [proposal_json(proposal) for proposal in verdict.would_admit],
    }
