"""From receipts to the requests that they tell of, as `policy.traffic` asks for them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from effectgate.policy.traffic import Recorded
from effectgate.policy.verdict import Proposal
from effectgate.policy.vocabulary import RISKS, Decision, Risk


def recorded_of(receipts: Iterable[Mapping[str, Any]], principals: frozenset[str] | None = None) -> list[Recorded]:
    """The decisions on HTTP requests among the receipts, in order; of these principals alone where some are given.

    What is no receipt of ours is left out: a store may have been written by anyone, and `receipts verify` tells.
    """
    found = [recorded for receipt in receipts if (recorded := _recorded(receipt)) is not None]
    return [one for one in found if principals is None or one.principal in principals]


def folded_refusals(receipts: Iterable[Mapping[str, Any]]) -> int:
    """How many refusals were folded into one receipt: of those no request is known."""
    outputs = (_table(receipt.get("output")) for receipt in receipts if receipt.get("kind") == "fold")
    return sum(count for output in outputs if isinstance(count := output.get("count"), int))


def _recorded(receipt: Mapping[str, Any]) -> Recorded | None:
    args, policy = _table(receipt.get("args")), _table(receipt.get("policy"))
    verdict = {str(word): word for word in Decision}.get(_text(receipt, "verdict"))
    if receipt.get("kind") != "decision" or args.get("type") != "http_request" or verdict is None:
        return None
    return Recorded(
        principal=_text(args, "principal"),
        verdict=verdict,
        reason_code=_text(receipt, "reason_code"),
        method=_text(args, "method"),
        host=_text(args, "host"),
        shown=f"{_text(args, 'method')} {_text(args, 'host')}{_text(args, 'path')}",
        url=_url(args),
        body=bool(_table(args.get("body")).get("present")),
        effect=_text(policy, "effect"),
        asks=tuple(ask for row in _list(policy.get("would_admit")) if (ask := _ask(_table(row))) is not None),
    )


def _url(args: Mapping[str, Any]) -> str:
    """The URL, where the path was kept whole: of one that was not, an HMAC was kept beside it."""
    path, host = _text(args, "path"), _text(args, "host")
    if not path or not host or "path_hmac" in args or "refused" in args:
        return ""
    scheme = (
        {"http": "ws", "https": "wss"}.get(_text(args, "scheme"), "") if args.get("websocket") else args.get("scheme")
    )
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{args.get('port')}{path}{_query(args)}"


def _query(args: Mapping[str, Any]) -> str:
    """The names alone; `evidence` writes TAGGED for one that it did not keep."""
    names = [str(pair[0]) for pair in _list(args.get("query")) if isinstance(pair, list) and pair]
    return "?" + "&".join(f"{quote(name)}=" for name in names) if names else ""


def _ask(row: Mapping[str, Any]) -> Proposal | None:
    if not (effect := _text(row, "effect")):
        return None
    also = tuple(name for name in _list(row.get("also")) if isinstance(name, str))
    return Proposal(effect, "", RISKS.get(_text(row, "risk"), Risk.DESTRUCTIVE), _where(row), also)


def _where(row: Mapping[str, Any]) -> dict[str, Any]:
    """As `policy.refusal.where_json` wrote it, with tuples for lists."""
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in _table(row.get("where")).items()
    }


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(table: Mapping[str, Any], name: str) -> str:
    value = table.get(name)
    return value if isinstance(value, str) else ""
