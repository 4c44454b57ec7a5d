"""Refusals grouped by the effect that would admit them."""

from __future__ import annotations

from typing import Any

from effectgate.receipts.denials import group_denials


def refusal(
    number: int, effect: str = "", path: str = "/a", also: list[str] | None = None, **changes: Any
) -> dict[str, Any]:
    proposal: dict[str, Any] = {"effect": effect, "risk": "publish", **({"also": also} if also else {})}
    return {
        "kind": "decision",
        "verdict": "DENY",
        "reason_code": "INSUFFICIENT_PRIVILEGE" if effect else "DATA_EGRESS_BLOCKED",
        "timestamp": f"2026-11-30T12:00:0{number}.000Z",
        "receipt_id": f"id-{number}",
        "args": {"principal": "ci", "method": "GET", "scheme": "https", "host": "api.test", "port": 443, "path": path},
        "policy": {"would_admit": [proposal]} if effect else {},
        **changes,
    }


def test_grouped_by_effect_and_retries_folded() -> None:
    receipts = [
        refusal(1, "g/open-pr"),
        refusal(2, "g/open-pr"),
        refusal(3, "g/open-pr", "/b"),
        refusal(4, "g/merge", also=["g/push"]),
        refusal(5),
        {"kind": "decision", "verdict": "ALLOW"},
        {"kind": "completion", "verdict": ""},
    ]
    groups = group_denials(receipts)
    assert [(group.effects, group.count, group.last[-6:-1], group.receipt_id) for group in groups] == [
        (("g/open-pr",), 3, "3.000", "id-3"),
        (("g/merge", "g/push"), 1, "4.000", "id-4"),
        ((), 1, "5.000", "id-5"),
    ]
    assert groups[0].requests == {"GET api.test/a": 2, "GET api.test/b": 1}
    assert groups[0].risk == "publish"


def test_an_unusual_port_is_shown() -> None:
    receipt = refusal(1)
    receipt["args"]["port"] = 8443
    assert list(group_denials([receipt])[0].requests) == ["GET api.test:8443/a"]


def test_folds_count() -> None:
    fold = refusal(6, kind="fold", reason_code="TEMPORAL_THROTTLE", args={"principal": "ci"}, output={"count": 40})
    (group,) = group_denials([fold])
    assert (group.count, group.folded) == (40, 40)
