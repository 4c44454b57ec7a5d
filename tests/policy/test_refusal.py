"""What a refusal tells to do next, for every reason and every kind of proposal."""

from __future__ import annotations

import pytest

from effectgate.policy.facts import facts_from_url
from effectgate.policy.refusal import answer_headers, next_step, refusal_body
from effectgate.policy.verdict import Proposal, Verdict
from effectgate.policy.vocabulary import Decision, Reason, Risk

FACTS = facts_from_url("POST", "https://api.test/repos/o/r/pulls?secret=1")


def denied(reason: Reason, *proposals: Proposal) -> Verdict:
    return Verdict(Decision.DENY, reason, "Because.", would_admit=proposals)


OPEN_PR = Proposal("github/open-pr", "Open a pull request", Risk.PUBLISH, {"owner": "o"})
ABOVE = Proposal("github/merge", "Merge", Risk.MUTATE_REMOTE, within_ceiling=False)


@pytest.mark.parametrize(
    ("verdict", "told"),
    [
        (denied(Reason.INSUFFICIENT_PRIVILEGE, OPEN_PR), '{"effect": "github/open-pr", "where": {"owner": "o"}}'),
        (
            denied(Reason.INSUFFICIENT_PRIVILEGE, ABOVE, OPEN_PR),
            "ask for it: POST http://effectgate.internal/v1/escalate",
        ),
        (denied(Reason.INSUFFICIENT_PRIVILEGE, ABOVE), "a person must raise `ceiling:` of ci in grants.yaml"),
        (denied(Reason.DATA_EGRESS_BLOCKED), "no effect names this request"),
        (denied(Reason.DATA_EGRESS_BLOCKED), "a pack with a shape for POST on api.test"),
        (denied(Reason.BUDGET_EXCEEDED), "wait until the limit resets"),
        (denied(Reason.NO_POLICY_DEFINED), "a person must give ci a grant"),
        (denied(Reason.SANDBOX_VIOLATION), "under `network:` in effectgate.yaml"),
    ],
)
def test_next_step(verdict: Verdict, told: str) -> None:
    assert told in next_step(verdict, FACTS, "ci")


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_a_next_step(reason: Reason) -> None:
    assert next_step(denied(reason), FACTS, "").strip() or reason is Reason.NONE


def test_also_is_asked_for_and_shown_only_where_there_is_some() -> None:
    both = Proposal("a/b", "t", Risk.READ, {"repo": ("x", {"is": "y*"})}, also=("a/c",))
    body = refusal_body(denied(Reason.INSUFFICIENT_PRIVILEGE, both, OPEN_PR), FACTS, "ci", "id")
    first, second = body["would_admit"]  # type: ignore[misc]
    assert first == {
        "effect": "a/b",
        "title": "t",
        "risk": "read",
        "where": {"repo": ["x", {"is": "y*"}]},
        "within_ceiling": True,
        "also": ["a/c"],
    }
    assert "also" not in second
    assert '"also": ["a/c"]' in str(body["next_step"])
    assert "secret" not in str(body)


def test_headers_are_left_out_where_they_would_be_empty() -> None:
    allowed = Verdict(Decision.ALLOW, Reason.NONE, "", effect="a/b")
    assert dict(answer_headers(allowed, "id")) == {
        "X-Effectgate-Verdict": "ALLOW",
        "X-Effectgate-Effect": "a/b",
        "X-Effectgate-Receipt": "id",
    }
    assert [name for name, _ in answer_headers(denied(Reason.PDP_ERROR), None)] == [
        "X-Effectgate-Verdict",
        "X-Effectgate-Reason",
    ]
