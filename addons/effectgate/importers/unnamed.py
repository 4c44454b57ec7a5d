"""Which operations the hand-written effects of a pack leave without a name."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from effectgate.importers.examples import carried, url_of
from effectgate.importers.operation import Call, Operation
from effectgate.policy.catalog import Catalog
from effectgate.policy.facts import EnvelopeError, facts_from_url
from effectgate.policy.recognition import recognise


def unnamed(operations: Sequence[Operation], catalog: Catalog, catch_all: Collection[str]) -> Iterator[Operation]:
    """The operations without the calls that some effect names, those that name more than they describe aside."""
    for operation in operations:
        if calls := tuple(call for call in operation.calls if not _named(call, catalog, catch_all)):
            yield replace(operation, calls=calls)


def _named(call: Call, catalog: Catalog, catch_all: Collection[str]) -> bool:
    headers, body = carried(call)
    try:
        facts = facts_from_url(call.method, url_of(call), headers, body.encode() or None)
    except EnvelopeError:
        return False
    return any(
        match.named and match.effect.id not in catch_all for match in recognise(catalog.candidates(facts), facts)
    )
