"""Identifiers become English words."""

from __future__ import annotations

import pytest

from effectgate.importers.words import listed, phrase, plural, singular, split


@pytest.mark.parametrize(
    ("identifier", "words"),
    [
        ("DescribeDBInstances", ("describe", "db", "instances")),
        ("ListVPCEndpoints", ("list", "vpc", "endpoints")),
        ("associateIpv6CidrBlock", ("associate", "ipv6", "cidr", "block")),
        ("AssignIPv6Addresses", ("assign", "ipv6", "addresses")),
        ("access_tokens", ("access", "tokens")),
        ("pull-requests", ("pull", "requests")),
    ],
)
def test_identifiers_are_split(identifier: str, words: tuple[str, ...]) -> None:
    assert split(identifier) == words


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("policy", "policies"), ("key", "keys"), ("address", "addresses"), ("status", "statuses"), ("index", "indices"), ("box", "boxes"),
        ("alias", "aliases"), ("data", "data"), ("database", "databases"), ("acl", "acls"), ("person", "people"), ("branch", "branches"),
    ],
)  # fmt: skip
def test_one_and_many(one: str, many: str) -> None:
    assert plural(one) == many
    assert singular(many) == one


def test_a_phrase_is_what_a_person_writes() -> None:
    assert phrase(("vpc", "endpoint", "policy")) == "VPC endpoint policies"
    assert phrase(("acl",)) == "ACLs"
    assert listed(["a", "b", "c"]) == "a, b and c"
