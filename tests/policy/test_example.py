"""Rows of the admits/denies table: how each kind of request is asked, and when a row holds."""

from __future__ import annotations

import pytest
from library import effect, example, library

from effectgate.policy.example import Examiner, ExampleError

TEXT = (
    effect("one", http='{ method = "GET", host = "api.example.com", path = "/x/{id}" }')
    + effect("post", "publish", '{ method = "POST", host = "api.example.com", path = "/x", form = { kind = "a" } }')
    + effect("work", "read", http="", hosts="", operations='"run_bash"', matches='commands = ["git log"]\nmcp_tools = ["log"]\n')
    + effect("file", "read", http="", hosts="", operations='"read_files"', matches='files = [{ op = "read", path = "/w/*" }]\n')
)  # fmt: skip

FORM = 'headers = { Content-Type = "application/x-www-form-urlencoded" }\nbody = "kind=a"\n'

# request, grant, expect, effect, further keys, whether the row holds
ROWS = [
    ("GET https://api.example.com/x/7", "one", "allow", "demo/one", "", True),
    ("GET https://api.example.com/x/7", "one", "allow", None, "", True),
    ("GET https://api.example.com/x/7", "one", "allow", "demo/post", "", False),
    ("GET https://api.example.com/x/7", "one", "deny", None, "", False),
    ("GET https://api.example.com/x/7", "post", "deny", "demo/one", "", True),
    ("GET https://api.example.com/x/7", "post", "deny", "", "", False),
    ("GET https://api.example.com/other", "one", "deny", "", "", True),
    ("GET https://api.example.com/other", "one", "deny", "demo/one", "", False),
    ("GET https://api.example.com/a/../x/7", "one", "deny", "", "", True),
    ("POST https://api.example.com/x", "post", "allow", "demo/post", FORM, True),
    ("POST https://api.example.com/x", "post", "allow", "demo/post", FORM.replace("body", "data"), True),
    ("POST https://api.example.com/x", "post", "allow", "demo/post", "", False),
    ("tool log", "work", "allow", "demo/work", "", True),
    ("tool log", "one", "deny", "demo/work", "", True),
    ("tool none", "work", "deny", "", "", True),
    ("command git log -1", "work", "allow", "demo/work", "", True),
    ("command git push", "work", "deny", "", "", True),
    ("file read /w/a", "file", "allow", "demo/file", "", True),
    ("file write /w/a", "file", "deny", "", "", True),
]


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[0]} {row[2]} {row[3]}" for row in ROWS])
def test_rows(row: tuple[str, str, str, str | None, str, bool]) -> None:
    request, grant, expect, answers, more, holds = row
    loaded = library({"demo": TEXT + example(request, expect, answers, f"demo/{grant}", more)})
    asked = loaded.packs[0].examples[0]
    assert Examiner(loaded.catalog).ask(asked).fits(asked) is holds


@pytest.mark.parametrize(
    ("request_line", "grant"), [("GET https://api.example.com/x/7", "demo/none"), ("nonsense", "demo/one")]
)
def test_what_cannot_be_asked(request_line: str, grant: str) -> None:
    loaded = library({"demo": TEXT + example(request_line, "deny", "", grant)})
    with pytest.raises(ExampleError):
        Examiner(loaded.catalog).ask(loaded.packs[0].examples[0])
