"""What two catalogues say differently, in words, and for which requests."""

from __future__ import annotations

import pytest
from library import effect, library

from effectgate.policy.verdict_diff import Difference, differences

ROW = '{{ method = "{}", host = "api.example.com", path = "{}"{} }}'


def shaped(name: str, path: str, risk: str = "read", method: str = "GET", keys: str = "", more: str = "") -> str:
    return effect(name, risk, ROW.format(method, path, keys), more=more)


READ = shaped("read", "/x/{id}")
SECRET = shaped("secret", "/x/*", more="reserved = true\n")
DELETE = shaped("delete", "/{a}/{b}", "destructive")


def compared(old: str, new: str) -> list[Difference]:
    return differences(library({"demo": old}).catalog, library({"demo": new}).catalog)


# old, new, the effect and its kind, a note, a consequence
ROWS = [
    (READ, READ + SECRET, "demo/secret", "added", "read, reserved, 1 shape",
     "GET https://api.example.com/x/id: was named by demo/read (read), now also by demo/secret (reserved); "
     "demo/read alone admitted it, and now is blocked by demo/secret (reserved)"),
    (READ + SECRET, READ, "demo/secret", "removed", "read, reserved, 1 shape",
     "GET https://api.example.com/x/id: was named by demo/read (read), demo/secret (reserved), now by demo/read (read); "
     "demo/read alone was blocked by demo/secret (reserved), and now admits it"),
    (READ, shaped("read", "/x/*"), "demo/read", "changed",
     "shape widened: GET api.example.com/x/{id} -> GET api.example.com/x/*",
     "GET https://api.example.com/x/any/any: was named by no effect, now by demo/read (read); "
     "demo/read alone did not admit it, and now admits it"),
    (shaped("read", "/x/*"), READ, "demo/read", "changed",
     "shape narrowed: GET api.example.com/x/* -> GET api.example.com/x/{id}",
     "GET https://api.example.com/x/any/any: was named by demo/read (read), now by no effect; "
     "demo/read alone admitted it, and now does not"),
    (READ + SECRET, READ + SECRET.replace("reserved = true\n", ""), "demo/secret", "changed", "no longer reserved",
     "GET https://api.example.com/x/id: demo/read alone was blocked by demo/secret (reserved), and now admits it"),
    (READ, shaped("read", "/y/{id}"), "demo/read", "changed", "shape lost: GET api.example.com/x/{id}",
     "GET https://api.example.com/x/id: was named by demo/read (read), now by no effect; demo/read alone admitted it, and now does not"),
    (READ, shaped("read", "/y/{id}"), "demo/read", "changed", "shape gained: GET api.example.com/y/{id}",
     "GET https://api.example.com/y/id: was named by no effect, now by demo/read (read); demo/read alone did not admit it, and now admits it"),
    (READ, shaped("read", "/x/{id}", keys=", query_only = []"), "demo/read", "changed",
     "shape with other conditions: GET api.example.com/x/{id} -> GET api.example.com/x/{id} query_only=(none)",
     "GET https://api.example.com/x/id?any=any: was named by demo/read (read), now by no effect; "
     "demo/read alone admitted it, and now does not"),
    (READ, READ.replace('title = "Effect read"', 'title = "Read it"'), "demo/read", "changed", "title was Effect read, now Read it", ""),
    (READ, shaped("read", "/x/{id}", "publish"), "demo/read", "changed", "risk was read, now publish", ""),
    (READ, shaped("read", "/x/{id}", more='level = "always"\n'), "demo/read", "changed", "level was low_risk, now always", ""),
    (READ, READ + 'mcp_tools = ["get_x"]\n', "demo/read", "changed", "tool gained: get_x", ""),
    (READ, shaped("read", "/x/{name}"), "demo/read", "changed", "scope parameter lost: id", ""),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "name", "kind", "note", "consequence"), ROWS, ids=[row[4] for row in ROWS])
def test_a_change_in_words(old: str, new: str, name: str, kind: str, note: str, consequence: str) -> None:
    (found,) = compared(old, new)
    assert (found.change.effect, found.change.kind) == (name, kind)
    assert note in found.change.notes
    assert (consequence in map(str, found.consequences)) is bool(consequence), list(map(str, found.consequences))


def test_what_is_the_same_differs_in_nothing() -> None:
    assert compared(READ + SECRET, SECRET + READ) == []


def test_a_request_of_an_effect_that_did_not_change_is_asked_too() -> None:
    """The witness of `/{a}/{b}` alone would miss that a read below it is now blocked."""
    (found,) = compared(READ, READ + DELETE.replace("/{a}/{b}", "/{a}/7"))
    assert (
        str(found.consequences[0])
        == "GET https://api.example.com/a/7: was named by no effect, now by demo/delete (destructive)"
    )
    (found,) = compared(
        shaped("read", "/x/7"), shaped("read", "/x/7") + shaped("delete", "/x/*", more="reserved = true\n")
    )
    told = {one.request for one in found.consequences}
    assert "GET https://api.example.com/x/7" in told


def test_requests_of_other_methods_are_not_told() -> None:
    (found,) = compared(READ, READ + shaped("write", "/x/{id}", "publish", "POST"))
    assert {one.request.split()[0] for one in found.consequences} == {"POST"}
