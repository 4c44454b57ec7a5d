"""`effectgate explain`: exit codes, the batch format of design.md section 7, and the cache that changes no answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Command

READ = ("GET", "https://notes.example.com/v1/mine/notes")
WRITE = ("POST", "https://notes.example.com/v1/mine/notes")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--effects", "notes/read", *READ), 0, "ALLOW"),
        (("--effects", "notes/read", *WRITE), 1, "DENY INSUFFICIENT_PRIVILEGE"),
        (("--effects", "", *READ), 1, "DENY NO_POLICY_DEFINED"),
        (("--effects", "notes/read", "GET", "https://elsewhere.example/"), 1, "DENY DATA_EGRESS_BLOCKED"),
        (("--effects", "notes/read", "GET", "https://notes.example.com/a/../b"), 1, "DENY ENVELOPE_INVALID"),
        (("--effects", "notes/read", "-H", "X-HTTP-Method-Override: PUT", *READ), 1, "DENY ENVELOPE_INVALID"),
        (("--effects", "notes/read", "--data", "x", *READ), 1, "DENY"),
        (("--agent", "ci-fixer", *READ), 0, "ALLOW"),
        (("--agent", "ci-fixer", "GET", "https://notes.example.com/v1/yours/notes"), 1, "ESCALATE APPROVAL_REQUIRED"),
    ],
)
def test_the_verdict_decides_the_exit_code(
    effectgate: Command, arguments: tuple[str, ...], code: int, words: str
) -> None:
    ran = effectgate("explain", *arguments)
    assert (ran.code, ran.err) == (code, "")
    assert ran.out.startswith(words)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("GET",),
        ("--batch", *READ),
        ("--agent", "a", "--effects", "b", *READ),
        ("--agent", "nobody", *READ),
        ("--effects", "notes/raed", *READ),
        ("--effects", "@missing.txt", *READ),
        ("--data", "@missing.txt", *READ),
        ("-H", "no colon", *READ),
        ("--site", "kubernetes", *READ),
        ("--site", "kubernetes=a b", *READ),
        ("--packs", "missing", *READ),
        ("--config", "missing.yaml", *READ),
        ("--nonsense", *READ),
    ],
)
def test_usage_is_one_line_on_stderr_and_exit_2(effectgate: Command, arguments: tuple[str, ...]) -> None:
    ran = effectgate("explain", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("effectgate: ")
    assert ran.err.count("\n") == 1
    assert ";" in ran.err


def test_json_says_who_would_admit(effectgate: Command) -> None:
    answer = json.loads(effectgate("explain", "--json", "--effects", "notes/read", *WRITE).out)
    assert answer["verdict"] == "DENY"
    assert answer["effect"] is None
    assert answer["recognised"] == [{"effect": "notes/write", "risk": "publish"}]
    assert answer["would_admit"][0]["where"] == {"book": "mine"}


def test_a_batch_answers_every_line_in_its_order(effectgate: Command) -> None:
    lines: list[object] = [
        {"method": "GET", "url": READ[1]},
        {"method": "GET", "url": READ[1], "headers": {"Accept": "*/*"}, "body": None, "effects": ["notes/read"]},
        {"method": "POST", "url": READ[1], "headers": {"Accept": ["a", "b"]}, "body": "{}", "effects": ["notes/write"]},
        {"method": "POST", "url": READ[1], "effects": []},
        {"method": "GET", "url": "https://notes.example.com/%2e%2e/"},
    ]
    stdin = "\n".join(map(json.dumps, lines)).encode()
    ran = effectgate("explain", "--batch", "--effects", "notes/read", stdin=stdin)
    answers = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.code == 0
    assert [(a["verdict"], a["reason_code"], a["effect"]) for a in answers] == [
        ("ALLOW", "", "notes/read"),
        ("ALLOW", "", "notes/read"),
        ("ALLOW", "", "notes/write"),
        ("DENY", "NO_POLICY_DEFINED", None),
        ("DENY", "ENVELOPE_INVALID", None),
    ]
    assert set(answers[0]) == {"verdict", "reason_code", "effect", "recognised", "would_admit"}


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"nonsense",
        b"[]",
        b'{"url": "https://notes.example.com/"}',
        b'{"method": 1, "url": "https://notes.example.com/"}',
        b'{"method": "GET", "method": "POST", "url": "https://notes.example.com/v1/b/notes"}',
        b'{"method": "GET", "url": "https://notes.example.com/v1/b/notes", "effects": ["no/such"]}',
        b'{"method": "GET", "url": "https://notes.example.com/v1/b/notes", "effects": "notes/read"}',
        b'{"method": "GET", "url": "https://notes.example.com/v1/b/notes", "headers": ["x"]}',
        b'{"method": "GET", "url": "https://notes.example.com/v1/b/notes", "headers": {"x": 1}}',
        b'{"method": "GET", "url": "https://notes.example.com/v1/b/notes", "body": {}}',
        b'{"method": "GET", "url": "https://notes.example.com/v1/b/notes", "body": "\\ud800"}',
        b'{"method": "GET", "url": "/v1/b/notes"}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_a_bad_line_is_answered_in_its_place(effectgate: Command, line: bytes) -> None:
    good = json.dumps({"method": "GET", "url": READ[1]}).encode()
    ran = effectgate("explain", "--batch", "--effects", "notes/read", stdin=b"\n".join([good, line, good]) + b"\n")
    reasons = [json.loads(answer)["reason_code"] for answer in ran.out.splitlines()]
    assert (ran.code, reasons) == (0, ["", "ENVELOPE_INVALID", ""])


def test_effects_and_bodies_may_come_from_files(effectgate: Command, installation: Path) -> None:
    (installation / "ids.txt").write_text("notes/read\nnotes/write, notes/read\n")
    (installation / "body").write_bytes(b"\x00\xff")
    assert effectgate("explain", "--effects", "@ids.txt", "--data", "@body", *WRITE).code == 0


def test_a_cached_catalogue_answers_as_a_fresh_one(effectgate: Command, installation: Path) -> None:
    first = effectgate("explain", "--json", "--effects", "notes/read", *WRITE)
    kept = list((installation / "cache" / "effectgate").iterdir())
    assert len(kept) == 1
    assert kept[0].stat().st_mode & 0o777 == 0o600
    assert effectgate("explain", "--json", "--effects", "notes/read", *WRITE) == first
    pack = installation / "effects" / "notes.toml"
    pack.write_text(pack.read_text().replace("Write a note", "Write one note"))
    assert "Write one note" in effectgate("explain", "--effects", "notes/read", *WRITE).out


@pytest.mark.parametrize("damage", ["content", "mode"])
def test_a_cache_that_others_could_have_written_is_not_read(
    effectgate: Command, installation: Path, damage: str
) -> None:
    first = effectgate("explain", "--effects", "notes/read", *WRITE)
    (kept,) = (installation / "cache" / "effectgate").iterdir()
    if damage == "content":
        kept.write_bytes(b"garbage")
    else:
        kept.write_bytes(b"cos\nsystem\n(S'touch pwned'\ntR.")
        kept.chmod(0o644)
    assert effectgate("explain", "--effects", "notes/read", *WRITE) == first
    assert not (installation / "pwned").exists()


def test_a_repositorys_own_packs_are_read_where_we_stand(effectgate: Command, installation: Path) -> None:
    local = installation / ".effectgate" / "effects"
    local.mkdir(parents=True)
    text = (installation / "effects" / "notes.toml").read_text()
    (local / "own.toml").write_text(
        text.replace('"notes"', '"own"').replace("notes/", "own/").replace("notes.example", "own.example")
    )
    assert effectgate("explain", "--effects", "own/read", "GET", "https://own.example.com/v1/b/notes").code == 0


def test_without_a_grant_the_two_options_are_told(effectgate: Command) -> None:
    ran = effectgate("explain", "GET", "https://notes.example.com/v1/b/notes")
    assert (ran.code, ran.out.splitlines()[0]) == (1, "DENY NO_POLICY_DEFINED")
    assert "give --agent NAME or --effects A,B" in ran.out
