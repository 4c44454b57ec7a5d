"""Operations become effects that a person can read, in a pack that loads and answers its own examples."""

from __future__ import annotations

import pytest

from effectgate.importers.drafting import draft, head_of, read
from effectgate.importers.grouping import MOST, grouped
from effectgate.importers.operation import Access, Operation, told_apart
from effectgate.importers.recipe import MARK, Recipe, by_hand, mark
from effectgate.importers.titles import fits, title_of
from effectgate.policy.catalog import Catalog
from effectgate.policy.example import Examiner
from importers.made import operation

RECIPE = Recipe(pack="queues", kind="openapi", source="a test")
HAND = head_of("queues") + (
    '[[effect]]\nid = "peek"\ntitle = "Peek"\nrisk = "read"\nlowers = { operations = ["web_fetch"], hosts = ["queues.example.com"] }\n'
    'matches = { http = [{ method = "GET", host = "queues.example.com", path = "/list-queue" }] }\n'
)


def titles(*operations: Operation) -> list[str]:
    return [title_of(group) for group in grouped(list(operations), fits)]


def many(count: int, *thing: str) -> list[Operation]:
    return [operation("get", *thing, f"part{number}") for number in range(count)]


def test_kin_stand_together_under_the_name_of_what_they_belong_to() -> None:
    queue = [operation("list", "queue"), operation("get", "queue", "attribute"), operation("get", "queue", "length")]
    (first, *_) = titles(*queue, *many(50, "zone"))
    assert first.startswith("Read queues, zone ")


def test_the_title_tells_every_verb() -> None:
    tasks = [operation(verb, "task", access=Access.WRITE) for verb in ("create", "update", "start", "stop")]
    assert titles(*tasks) == ["Create, change, start and stop tasks in Queues"]


def test_a_service_of_few_operations_is_read_whole() -> None:
    assert titles(*many(30, "thing")) == ["Read everything that is no secret in Queues"]


def test_no_group_is_larger_than_a_person_can_weigh() -> None:
    groups = list(grouped([operation("get", "zone", path=f"/{n}") for n in range(200)], fits))
    assert max(group.rows for group in groups) <= MOST
    assert sum(group.rows for group in groups) == 200


def test_what_no_request_tells_apart_counts_as_the_graver() -> None:
    read, delete = operation("get", "queue", path="/q"), operation("delete", "queue", access=Access.DELETE, path="/q")
    (kept,) = told_apart([read, delete])
    assert (kept.access, kept.rows) == (Access.DELETE, 2)


def test_a_draft_loads_and_its_examples_hold() -> None:
    operations = [operation("get", "queue"), operation("delete", "queue", access=Access.DELETE, method="DELETE")]
    pack = read("queues", draft(RECIPE, head_of("queues"), mark(RECIPE, "a command"), operations).text)
    examiner = Examiner(Catalog.build(pack.effects))
    assert {row.effect for row in pack.examples} == {"queues/read-queues", "queues/delete-queues"}
    assert [row for row in pack.examples if not examiner.ask(row).fits(row)] == []
    assert {(row.effect, row.allow) for row in pack.examples} >= {
        ("queues/read-queues", True),
        ("queues/read-queues", False),
    }


def test_what_the_hand_written_part_names_is_not_drafted_again() -> None:
    operations = [operation("list", "queue"), operation("get", "zone")]
    pack = read("queues", draft(RECIPE, HAND, mark(RECIPE, "a command"), operations).text)
    assert [effect.id for effect in pack.effects] == ["queues/peek", "queues/read-zones"]
    broad = RECIPE.model_copy(update={"catch_all": ["queues/peek"]})
    again = read("queues", draft(broad, HAND, mark(RECIPE, "a command"), operations).text)
    assert [effect.title for effect in again.effects] == ["Peek", "Read queues and zones in Queues"]


def test_making_it_again_keeps_the_hand_written_part_and_changes_nothing() -> None:
    operations = [operation("get", "zone"), operation("create", "zone", access=Access.WRITE, method="POST")]
    made = draft(RECIPE, HAND, mark(RECIPE, "a command"), operations).text
    assert by_hand(made).rstrip() == HAND.rstrip()
    assert MARK in made
    assert draft(RECIPE, by_hand(made), mark(RECIPE, "a command"), operations).text == made


@pytest.mark.parametrize("access", list(Access))
def test_every_access_makes_a_title_that_fits(access: Access) -> None:
    (title,) = titles(operation("create", "very", "long", "thing", access=access))
    assert title.endswith(" in Queues")
    assert title[0].isupper()
