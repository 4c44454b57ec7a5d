"""What operations are taken to do: the label first, then the verb, then what the thing is."""

from __future__ import annotations

import pytest

from effectgate.importers.access import access_of
from effectgate.importers.operation import GRADES, Access
from effectgate.policy.vocabulary import Risk

ROWS = [
    ("get", "zone", True, Access.READ),
    ("get", "zone", None, Access.READ),
    ("geocode", "place", True, Access.READ),
    ("get", "secret value", True, Access.SECRET),
    ("create", "zone", False, Access.WRITE),
    ("create", "zone", True, Access.WRITE),  # a label is not believed of a verb that plainly changes something
    ("frobnicate", "zone", None, Access.WRITE),  # nor is an unknown verb a read
    ("delete", "zone", False, Access.DELETE),
    ("search", "zone", False, Access.ASK),
    ("ask about access to", "zone", False, Access.PROBE),
    ("create", "access key", False, Access.CREDENTIAL),
    ("delete", "access key", False, Access.DELETE),
    ("put", "resource policy", False, Access.PERMISSION),
    ("delete", "role", False, Access.PERMISSION),
    ("execute", "command", False, Access.RUN),
    ("send", "message", False, Access.SEND),
    ("export", "table", True, Access.EXPORT),
]


@pytest.mark.parametrize(("verb", "thing", "reads", "access"), ROWS)
def test_access(verb: str, thing: str, reads: bool | None, access: Access) -> None:
    assert access_of(verb, frozenset(thing.split()), reads=reads) is access


def test_a_label_of_permissions_outweighs_the_verb() -> None:
    assert access_of("tag", frozenset({"zone"}), reads=False, permissions=True) is Access.PERMISSION


def test_only_what_reads_without_secrets_is_a_plain_read() -> None:
    assert [a for a, grade in GRADES.items() if grade.risk is Risk.READ and not grade.reserved] == [Access.READ]
    assert {a for a, grade in GRADES.items() if grade.reserved} == {
        Access.SECRET,
        Access.EXPORT,
        Access.RUN,
        Access.CREDENTIAL,
        Access.PERMISSION,
    }
