"""`effectgate denials`: refusals grouped by the effect that would admit them, retries folded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from effectgate.cli.output import ConfigOption, JsonOption, json_text, print_json, printable

if TYPE_CHECKING:
    from effectgate.receipts.denials import DenialGroup

POLL_SECONDS = 0.5
# The proxy's own request at every start (proxy.canary.PRINCIPAL, which would cost the import of mitmproxy): nobody's denial.
CANARY = "effectgate-canary"
# What is said where no effect would admit: the cause lies elsewhere than in the grant's list.
WITHOUT_EFFECT = {
    "DATA_EGRESS_BLOCKED": "no effect names it",
    "SANDBOX_VIOLATION": "its address or port is not open",
    "ENVELOPE_INVALID": "it is ambiguous or malformed",
    "BUDGET_EXCEEDED": "a limit is used up",
    "NO_POLICY_DEFINED": "no grant is in force",
    "TEMPORAL_THROTTLE": "too much at once",
    "PDP_ERROR": "deciding failed",
}


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("denials")(denials)


def denials(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on printing refusals as they come.")] = False,
    agent: Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Only of this agent.")] = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Print what was refused and what would admit it, the latest last."""
    from effectgate.config import load_settings
    from effectgate.receipts.denials import group_denials
    from effectgate.receipts.store_file import FILE_NAME
    from effectgate.receipts.store_reading import reading

    store = load_settings(config).state / FILE_NAME
    with reading(store) as reader:
        last = reader.last_seq()
        groups = [
            group for group in group_denials(receipt for _, receipt in reader.receipts()) if _wanted(group, agent)
        ]
    if as_json and not follow:
        print_json([_json(group) for group in groups])
        return
    for group in groups:
        _print(group, as_json)
    if follow:
        for receipt in _following(store, last):
            for group in group_denials([receipt]):
                if _wanted(group, agent):
                    _print(group, as_json)


def _wanted(group: DenialGroup, agent: str | None) -> bool:
    return group.principal == agent or (agent is None and group.principal != CANARY)


def _following(store: Path, last: int) -> Iterator[dict[str, Any]]:
    """Receipts as they are written, until the reader of our output or the person has enough."""
    from effectgate.receipts.store_reading import reading

    while True:
        with reading(store) as reader:
            for seq, receipt in reader.receipts(last):
                last = seq
                yield receipt
        time.sleep(POLL_SECONDS)


def _json(group: DenialGroup) -> dict[str, object]:
    return {
        "principal": group.principal,
        "reason_code": group.reason_code,
        "effects": list(group.effects),
        "risk": group.risk,
        "count": group.count,
        "folded": group.folded,
        "first": group.first,
        "last": group.last,
        "requests": [{"request": request, "count": count} for request, count in group.requests.most_common()],
        "receipt_id": group.receipt_id,
    }


def _print(group: DenialGroup, as_json: bool) -> None:
    if as_json:
        print(json_text(_json(group)), flush=True)
        return
    effects = " with ".join(group.effects) if group.effects else WITHOUT_EFFECT.get(group.reason_code, "no effect")
    risk = f" ({group.risk})" if group.risk else ""
    times = f"{group.count} time{'' if group.count == 1 else 's'}"
    print(printable(f"{group.last}  {group.principal}  {group.reason_code}  {effects}{risk}  {times}"))
    for request, count in group.requests.most_common(5):
        print(f"    {count:>5}  {printable(request)}")
    if len(group.requests) > 5:
        print(f"           and {len(group.requests) - 5} other requests", flush=True)
