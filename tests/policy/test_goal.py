"""Goals: which words fire which rule, what is proposed, and what never is."""

from __future__ import annotations

import pytest

from effectgate.policy.catalog import Catalog
from effectgate.policy.effect import Effect
from effectgate.policy.goal import Ecosystem, GoalRule, GoalRules, is_phrase, map_goal, withheld
from effectgate.policy.vocabulary import RISKS


def effect(effect_id: str, risk: str, *operations: str, hosts: tuple[str, ...] = (), reserved: bool = False) -> Effect:
    title = f"Read {effect_id.partition('/')[2].removeprefix('read-').replace('-', ' ')}"
    return Effect(effect_id, title, RISKS[risk], operations or ("web_fetch",), hosts=hosts, reserved=reserved)


HOSTS = ("api.test",)
CATALOG = Catalog(
    {
        e.id: e
        for e in (
            effect("forge/read-logs", "read", hosts=HOSTS),
            effect("forge/rerun", "execute", hosts=HOSTS),
            effect("forge/open-pr", "publish", "create_pr", "git_push", hosts=HOSTS),
            effect("forge/comment", "publish", "create_pr", hosts=HOSTS),
            effect("forge/release", "publish", "create_pr", "web_fetch", hosts=HOSTS),
            effect("fs/edit", "write_local", "edit_files"),
            effect("shell/run", "execute", "run_bash"),
            effect("shell/ask", "execute", "web_fetch"),
            effect("shell/root", "destructive", "run_bash"),
            effect("bank/read-invoices", "read", hosts=HOSTS),
            effect("bank/read-cards", "read", hosts=HOSTS),
            effect("bank/read-secret-invoices", "read", hosts=HOSTS, reserved=True),
        )
    },
    Catalog.build([])._root,
)
RULES = GoalRules(
    (
        GoalRule("ci", ("ci", "fail* build*"), ("forge/read-logs",), ("forge/rerun",)),
        GoalRule("all", ("everything",), ("forge/*", "fs/*", "shell/*"), narrow=True),
    ),
    (Ecosystem("Shell", ("x.sh",), ("shell/*",)),),
)

FIRES = [
    ("why is CI red", ["ci"]),
    ("the failing builds again", ["ci"]),
    ("clarify the spec", []),
    ("c.i is no word of it", []),
    ("failing nightly build", []),
    ("ci, and everything", ["ci", "all"]),
    ("", []),
    ("look at the bank invoices", ["service:bank"]),
    ("look at the bank", []),
    ("read from the bank", []),
]


@pytest.mark.parametrize(("goal", "rules"), FIRES)
def test_which_rules_fire(goal: str, rules: list[str]) -> None:
    assert [fired.rule for fired in map_goal(RULES, goal, CATALOG).fired] == rules


def test_the_words_that_fired_are_told() -> None:
    assert map_goal(RULES, "a FAILING build", CATALOG).fired[0].words == "failing build"


def test_reads_and_the_repository_are_proposed_and_the_rest_is_named() -> None:
    mapped = map_goal(RULES, "everything", CATALOG)
    assert [wish.effect for wish in mapped.wishes] == ["forge/read-logs", "forge/open-pr", "fs/edit", "shell/run"]
    assert {item.what for item in mapped.left_out} == {
        "forge/rerun",
        "forge/comment",
        "forge/release",
        "shell/ask",
        "shell/root",
    }
    assert all("--effects" in item.reason for item in mapped.left_out)


def test_what_a_person_may_add_by_name_is_told() -> None:
    assert [item.what for item in map_goal(RULES, "ci", CATALOG).left_out] == ["forge/rerun"]


def test_a_service_without_a_rule_is_found_by_the_nouns_of_its_titles() -> None:
    mapped = map_goal(RULES, "what do the bank's invoices say? bank", CATALOG)
    assert [wish.effect for wish in mapped.wishes] == ["bank/read-invoices"]


@pytest.mark.parametrize(("files", "proposed"), [(None, True), (frozenset({"x.sh"}), True), (frozenset({"y"}), False)])
def test_a_repository_narrows_what_only_other_languages_need(files: frozenset[str] | None, proposed: bool) -> None:
    mapped = map_goal(RULES, "everything", CATALOG, files)
    assert ("shell/run" in [wish.effect for wish in mapped.wishes]) is proposed
    assert ("shell/run" in [item.what for item in mapped.left_out]) is not proposed


def test_a_reserved_read_is_withheld() -> None:
    assert "reserved" in withheld(CATALOG.effects["bank/read-secret-invoices"])


@pytest.mark.parametrize(
    ("text", "good"),
    [("ci", True), ("fail* build*", True), ("CI", False), ("*", False), ("a*b", False), ("a  b", False), ("", False)],
)
def test_phrases(text: str, good: bool) -> None:
    assert is_phrase(text) is good
