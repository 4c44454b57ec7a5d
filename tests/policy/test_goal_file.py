"""Goals files: what they may contain, and that every fault is told with key and remedy."""

from __future__ import annotations

from effectgate.policy.document import Document
from effectgate.policy.goal import Ecosystem, GoalRule, GoalRules
from effectgate.policy.goal_file import read_goals


def read(value: object) -> tuple[GoalRules, list[str]]:
    rules, faults = read_goals(Document("goals.toml", value, lambda path: 1))
    return rules, [fault.key for fault in faults]


def test_a_whole_file() -> None:
    rules, faults = read(
        {
            "rule": [{"name": "ci", "phrases": ["ci"], "propose": ["a/read-*"], "by_name": ["a/b"], "narrow": True}],
            "ecosystem": [{"name": "Rust", "files": ["Cargo.toml"], "effects": ["web/x"]}],
        }
    )
    assert not faults
    assert rules.rules == (GoalRule("ci", ("ci",), ("a/read-*",), ("a/b",), True),)
    assert rules.ecosystems == (Ecosystem("Rust", ("Cargo.toml",), ("web/x",)),)


def test_every_fault_is_told() -> None:
    row = {"name": "C I", "phrases": ["CI"], "propose": ["everything"], "also": 1}
    assert set(read({"rule": [row]})[1]) == {
        "rule[0].name", "rule[0].phrases[0]", "rule[0].propose[0]", "rule[0].also",
    }  # fmt: skip
    assert read({"rule": [{"name": "a", "phrases": [], "propose": []}]})[1] == ["rule[0].phrases", "rule[0].propose"]
