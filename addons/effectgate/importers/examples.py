"""Requests that show what a drafted effect admits, and under which other grant the same request is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from effectgate.importers.effects import DraftEffect
from effectgate.importers.operation import Call, Carrier
from effectgate.policy.catalog import Catalog
from effectgate.policy.example import Examiner, Example, ExampleError
from effectgate.policy.facts import EnvelopeError

_HOLE = re.compile(r"\{([a-z0-9_]+)\}")
_SAMPLES = {"region": "eu-west-1", "account": "123456789012"}
_TRIED = 6


@dataclass(frozen=True, slots=True)
class DraftExample:
    """One `[[example]]`."""

    grant: str
    request: str
    headers: tuple[tuple[str, str], ...]
    body: str
    allow: bool
    effect: str

    def asked(self) -> Example:
        """The row as the examiner takes it."""
        return Example(
            (self.grant,), self.request, self.allow, self.effect, self.headers, self.body.encode() or None, ()
        )


def draft_examples(pack: str, effects: Sequence[DraftEffect], catalog: Catalog) -> Iterator[DraftExample]:
    """For each effect a request that it admits, and the same request refused under a neighbour; only rows that the catalogue answers so."""
    examiner = Examiner(catalog)
    by_hand = list(catalog.effects)[:_TRIED]
    for at, effect in enumerate(effects):
        name = f"{pack}/{effect.id}"
        for call in list(_calls(effect))[:_TRIED]:
            row = _row(call, name, name, allow=True)
            if _holds(examiner, row):
                yield row
                yield from _refusal(
                    examiner, call, name, [*(f"{pack}/{other.id}" for other in _near(effects, at)), *by_hand]
                )
                break


def _calls(effect: DraftEffect) -> Iterator[Call]:
    return (operation.calls[0] for operation in effect.group.operations)


def _near(effects: Sequence[DraftEffect], at: int) -> list[DraftEffect]:
    ring = [*effects[at + 1 : at + 1 + _TRIED], *effects[max(0, at - _TRIED) : at]]
    return sorted(ring, key=lambda other: other.group.service != effects[at].group.service)


def _refusal(examiner: Examiner, call: Call, effect: str, others: Sequence[str]) -> Iterator[DraftExample]:
    for other in others:
        row = _row(call, other, effect, allow=False)
        if _holds(examiner, row) and examiner.ask(row.asked()).effects[0] == effect:
            yield row
            return


def _holds(examiner: Examiner, row: DraftExample) -> bool:
    try:
        return examiner.ask(row.asked()).fits(row.asked())
    except (ExampleError, EnvelopeError):
        return False


def _row(call: Call, grant: str, effect: str, *, allow: bool) -> DraftExample:
    headers, body = carried(call)
    return DraftExample(grant, f"{call.method} {url_of(call)}", headers, body, allow, effect)


def url_of(call: Call) -> str:
    """The URL of a call, with a sample for every parameter."""
    query = [(name, value.replace("*", "x1")) for name, value in call.query]
    query += [(call.name, call.value)] if call.carrier is Carrier.QUERY else []
    path = quote(_filled(call.path).replace("*", "x1"), safe="/:@!$&'()+,;=~-._%")
    host = _filled(call.host)
    return f"https://{host.removeprefix('@') + '.example' if host.startswith('@') else host}{path}" + (
        f"?{urlencode(query)}" if query else ""
    )


def _filled(template: str) -> str:
    return _HOLE.sub(lambda hole: _SAMPLES.get(hole[1], "x1"), template)


def carried(call: Call) -> tuple[tuple[tuple[str, str], ...], str]:
    """Header fields and body of a call."""
    media = (("Content-Type", call.media_type),) if call.media_type else ()
    if call.carrier is Carrier.HEADERS:
        return ((call.name, call.value), *media), ""
    return media, urlencode([(call.name, call.value)]) if call.carrier is Carrier.FORM else ""
