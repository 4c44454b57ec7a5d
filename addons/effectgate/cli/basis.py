"""What a proposed grant is made from, beside words: the receipts of a store, the lines of an allow-list."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from effectgate.cli.catalogue import Catalogue
from effectgate.cli.denials import CANARY
from effectgate.cli.output import NO, CommandError

if TYPE_CHECKING:
    from effectgate.policy.allowlist import Reading
    from effectgate.policy.suggestion import LeftOut, Wish
    from effectgate.policy.traffic import Recorded


@dataclass(frozen=True, slots=True)
class Basis:
    """What one option leads to: wishes, what is left out, sentences for people, and for an allow-list each of its entries."""

    wishes: tuple[Wish, ...]
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    hosts: tuple[dict[str, object], ...] = ()


def recorded_requests(catalogue: Catalogue, store: Path | None, agent: str) -> tuple[list[Recorded], int]:
    """The decisions that a store has of an agent (of all where it is empty), and how many refusals were folded."""
    from effectgate.receipts.recorded import folded_refusals, recorded_of
    from effectgate.receipts.store_file import FILE_NAME
    from effectgate.receipts.store_reading import reading

    with reading(store or catalogue.settings.state / FILE_NAME) as reader:
        receipts = [receipt for _, receipt in reader.receipts()]
    found = recorded_of(receipts, frozenset({agent}) if agent else None)
    return [one for one in found if one.principal != CANARY], folded_refusals(receipts)


def of_receipts(catalogue: Catalogue, store: Path | None, agent: str) -> Basis:
    """The least that admits what was recorded."""
    from effectgate.policy.suggestion import LeftOut
    from effectgate.policy.traffic import least_wishes

    recorded, folded = recorded_requests(catalogue, store, agent)
    if not recorded:
        raise CommandError(
            f"no receipt tells of a request of {agent or 'any agent'}", "let it work first (`effectgate run`)", code=NO
        )
    wishes, left_out = least_wishes(catalogue.policy.catalog, recorded, datetime.now(UTC))
    if folded:
        left_out.append(LeftOut(f"{folded} refusals beyond the rate", "their receipt keeps their number alone"))
    return Basis(tuple(wishes), tuple(left_out), (f"From {len(recorded)} recorded decisions.",))


def of_allowlist(catalogue: Catalogue, file: Path) -> Basis:
    """The reads that the hosts of a list stood for."""
    from effectgate.policy.allowlist import read_allowlist, read_entry
    from effectgate.policy.suggestion import LeftOut
    from effectgate.text_file import read_text

    try:
        entries = read_allowlist(read_text(file))
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(
            f"{file} cannot be read: {error}", "name a UTF-8 file of hosts or URLs, one a line"
        ) from error
    if not entries:
        raise CommandError(f"{file} has no entry", "write hosts or URLs, one a line", code=NO)
    now = datetime.now(UTC)
    readings = [read_entry(catalogue.policy.catalog, entry, now) for entry in entries]
    return Basis(
        tuple(wish for reading in readings for wish in reading.wishes),
        tuple(LeftOut(r.allowed.line, r.refusal or r.rest) for r in readings if r.refusal or r.rest),
        tuple(f"{reading.allowed.line}: {reading.purpose}." for reading in readings if reading.purpose),
        tuple(map(_host_json, readings)),
    )


def _host_json(reading: Reading) -> dict[str, object]:
    return {
        "entry": reading.allowed.line,
        "host": reading.allowed.host,
        "was_for": list(reading.effects),
        "proposed": [wish.effect for wish in reading.wishes],
        "carried": not reading.refusal,
        "reason": reading.refusal or reading.rest,
    }
