"""A suggested grant as text: what stands in it can neither end a line nor a quotation."""

from __future__ import annotations

from effectgate.policy.lattice import OPEN
from effectgate.policy.scope import ScopeValue
from effectgate.policy.suggestion import LeftOut, Suggested, Suggestion
from effectgate.strict_yaml import read_yaml
from effectgate.suggestion_view import Heading, grants_text, suggestion_json
from policy.build import effect

HOSTILE = 'x"\n- y: {z}\x1b[2J\u2028#'
WHERE = {"owner": (ScopeValue(HOSTILE, literal=True),), "repo": (ScopeValue("a"), ScopeValue("b*"))}
SUGGESTION = Suggestion(
    OPEN, (Suggested(effect("a/read", "read", "GET a.test/"), WHERE, (HOSTILE,)),), (LeftOut(HOSTILE, HOSTILE),)
)


def test_the_text_is_yaml_that_says_what_was_meant() -> None:
    text = grants_text(Heading(HOSTILE, HOSTILE, (HOSTILE,)), SUGGESTION)
    assert read_yaml(text, "grants.yaml").value == {
        "version": 1,
        "agents": [
            {
                "name": HOSTILE,
                "ceiling": "none",
                "goal": HOSTILE,
                "effects": [
                    {"effect": "a/read", "where": {"owner": {"is": HOSTILE}, "repo": ["a", "b*"]}, "sealed": "a/read"}
                ],
            }
        ],
    }
    assert text.replace("\n", "").isprintable()


def test_json_has_the_same() -> None:
    told = suggestion_json(Heading("me"), SUGGESTION)
    assert told["left_out"] == [{"what": HOSTILE, "reason": HOSTILE}]
    assert told["ceiling"] == "none"
