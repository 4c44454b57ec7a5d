"""Faults that only show between packs; each names both (design.md section 2, "Faults")."""

from __future__ import annotations

import pytest
from library import HEAD, effect, example, faults, library, sources

from effectgate.packs_io import Source, Sources, load
from effectgate.policy.fault import FaultsError
from effectgate.policy.site import Sites

ROW = '{{ method = "{}", host = "{}", path = "{}" }}'


def shaped(
    name: str, risk: str, method: str = "GET", path: str = "/x/{id}", host: str = "api.example.com", more: str = ""
) -> str:
    return effect(name, risk, ROW.format(method, host, path).replace(" }", more + " }"), f'"{host}"')


def vouch(name: str, risk: str, hosts: str = '"api.example.com"') -> str:
    return effect(name, risk, http="", hosts=hosts)


def test_one_pack_name_in_two_files() -> None:
    text = HEAD.format(name="demo") + effect()
    twice = Sources(tuple(Source(f"{place}/demo.toml", "demo", text, True) for place in ("a", "b")), ())
    with pytest.raises(FaultsError) as caught:
        load(twice)
    (fault,) = caught.value.faults
    assert (fault.file, fault.key, fault.line) == ("b/demo.toml", "plugin.name", 2)
    assert "a/demo.toml" in fault.message


VOUCHES = [
    ("same host", vouch("a", "read") + vouch("b", "publish"), ["demo/a"]),
    ("same risk", vouch("a", "read") + vouch("b", "read"), []),
    ("other host", vouch("a", "read") + vouch("b", "publish", '"b.example.com"'), []),
    ("same wide host", vouch("a", "read", '"*.example.com"') + vouch("b", "publish", '"*.example.com"'), ["demo/a"]),
    ("shapes are no vouch", vouch("a", "read") + shaped("b", "publish"), []),
]


@pytest.mark.parametrize(("text", "ids"), [row[1:] for row in VOUCHES], ids=[row[0] for row in VOUCHES])
def test_vouches_that_share_a_host(text: str, ids: list[str]) -> None:
    try:
        library({"demo": text})
        found = []
    except FaultsError as error:
        found = [fault for fault in error.faults if "vouches for" in fault.message]
    assert [fault.message.partition(" ")[0] for fault in found] == ids
    assert all("demo/b (publish)" in fault.message and fault.key == "effect[0].lowers.hosts" for fault in found)


def test_vouches_of_two_packs() -> None:
    (fault,) = faults({"low": vouch("a", "read"), "high": vouch("b", "destructive")})
    assert (fault.file, fault.line) == ("low.toml", 10)
    assert "high/b (destructive)" in fault.message


# the riskier effect, the other, whether the other's shape lies within
CONTAINED = [
    ("wider path", shaped("b", "publish", path="/x/*"), shaped("a", "read"), True),
    ("same set", shaped("b", "publish"), shaped("a", "read"), True),
    ("wider host", shaped("b", "publish", host="*.example.com"), shaped("a", "read"), True),
    ("vouch", vouch("b", "publish"), shaped("a", "read"), True),
    ("wide vouch", vouch("b", "publish", '"*.example.com"'), shaped("a", "read"), True),
    ("narrower", shaped("b", "publish"), shaped("a", "read", path="/x/*"), False),
    ("other method", shaped("b", "publish", "DELETE", "/x/*"), shaped("a", "read"), False),
    ("other host", shaped("b", "publish", host="b.example.com"), shaped("a", "read"), False),
    ("same risk", shaped("b", "read", path="/x/*"), shaped("a", "read"), False),
    ("less risk", shaped("b", "read", path="/x/*"), shaped("a", "publish"), False),
    ("asks for more", shaped("b", "publish", path="/x/*", more=', query = { q = "1" }'), shaped("a", "read"), False),
]


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"), [row[1:] for row in CONTAINED], ids=[row[0] for row in CONTAINED]
)
def test_a_shape_within_a_riskier_effect_of_another_pack(wide: str, narrow: str, expected: bool) -> None:
    packs = {"low": narrow, "high": wide}
    if not expected:
        library(packs)
        return
    (fault,) = faults(packs)
    assert (fault.file, fault.key, fault.line) == ("low.toml", "effect[0].matches.http[0]", 13)
    assert "low/a (read) lies within high/b (publish) of high.toml" in fault.message
    assert "{effect: low/a, within: high/b}" in fault.fix
    load(sources(packs), exceptions=[("low/a", "high/b")])


def test_one_exception_covers_one_pair() -> None:
    packs = {
        "low": shaped("a", "read"),
        "high": shaped("b", "publish", path="/x/*") + shaped("c", "publish", path="/*"),
    }
    (fault,) = faults(packs, exceptions=[("low/a", "high/b")])
    assert "within: high/c" in fault.fix


def test_within_one_pack_it_is_no_fault() -> None:
    library({"demo": shaped("a", "read") + shaped("b", "publish", path="/x/*")})


GET = "GET https://api.example.com/x/7"


def test_an_example_whose_answer_another_pack_changes() -> None:
    good = shaped("one", "read") + example(GET, "allow", "demo/one")
    reserved = effect("grab", "read", ROW.format("GET", "api.example.com", "/x/{id}"), more="reserved = true\n")
    (fault,) = faults({"demo": good, "other": reserved, "third": shaped("x", "read", path="/none")})
    assert (fault.file, fault.key) == ("demo.toml", "example[0]")
    assert "of demo is changed by the pack other" in fault.message
    assert GET in fault.message


def test_an_example_that_names_nothing_may_be_changed_too() -> None:
    denied = shaped("one", "read") + example("GET https://b.example.com/", "deny", "")
    (fault,) = faults({"demo": denied, "other": vouch("b", "read", '"b.example.com"')})
    assert "changed by the pack other" in fault.message


def test_an_example_false_by_itself_is_no_fault() -> None:
    text = shaped("one", "read") + example(GET, "deny", "")
    library({"demo": text, "other": vouch("b", "read", '"b.example.com"')})


def test_an_example_that_needs_the_other_pack_is_no_fault() -> None:
    text = shaped("one", "read") + example(GET.replace("api", "b"), "deny", "other/b")
    library({"demo": text, "other": vouch("b", "read", '"b.example.com"')})


def test_a_third_pack_may_not_change_what_two_agree_on() -> None:
    text = shaped("one", "read") + example(GET.replace("api", "b"), "allow", "other/b", "other/b")
    third = effect(
        "grab", "publish", ROW.format("GET", "b.example.com", "/x/{id}"), '"b.example.com"', more="reserved = true\n"
    )
    (fault,) = faults({"demo": text, "other": vouch("b", "read", '"b.example.com"'), "third": third})
    assert "changed by the pack third" in fault.message


def test_examples_are_checked_beside_packs_that_do_not_load() -> None:
    found = faults({"demo": shaped("one", "read") + example(GET, "allow", "demo/one"), "bad": "x = 1\n"})
    assert [fault.file for fault in found] == ["bad.toml"]


SITE = '[[effect]]\nid = "one"\ntitle = "One"\nrisk = "read"\n[effect.lowers]\noperations = ["web_fetch"]\nhosts = ["@lab"]\n'


@pytest.mark.parametrize("sites", [{}, {"lab": ["lab.internal:6443"]}])
def test_sites_are_checked_wherever_the_operator_has_them(sites: dict[str, list[str]]) -> None:
    row = '[effect.matches]\nhttp = [{ method = "GET", host = "@lab", path = "/x" }]\n'
    asked = example("GET https://lab.example/x", "allow", "demo/one")
    wide = SITE.replace("read", "publish")
    found = faults({"demo": SITE + row + asked, "other": wide}, sites=Sites.parse(sites))
    assert [fault.message.partition(" lies")[0] for fault in found] == ["the shape of demo/one (read)"]
    reserved = wide.replace("publish", "read").replace('"One"', '"One"\nreserved = true')
    (fault,) = faults({"demo": SITE + row + asked, "other": reserved + row}, sites=Sites.parse(sites))
    assert "changed by the pack other" in fault.message
