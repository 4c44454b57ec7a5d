"""The line of every key of a TOML text, also where the text looks like something else."""

from __future__ import annotations

import tomli
from hypothesis import given
from hypothesis import strategies as st

from effectgate.policy.document import KeyPath, key_text
from effectgate.policy.toml_lines import lines_of

TEXT = '''# [[effect]]
[plugin]
"odd \\"k\\" [x]" = 'a # no comment'
a.b.c = """x
[y]
""" # after
[[effect]]
id = 'one'
[effect.lowers]
operations = [
  "a", # x ]
  'b',
]
[effect.matches]
http = [
  { method = ["GET"], query = { "a b" = "}" } },
  { method = "P",
    host = """]""" },
]
[[effect]]
id="two"
when = 2026-01-01T00:00:00Z
list = [1.5, [2, 3], {a=1}]
'''

EXPECTED: dict[KeyPath, int] = {
    ("plugin",): 2,
    ("plugin", 'odd "k" [x]'): 3,
    ("plugin", "a", "b", "c"): 4,
    ("effect", 0): 7,
    ("effect", 0, "id"): 8,
    ("effect", 0, "lowers", "operations"): 10,
    ("effect", 0, "lowers", "operations", 1): 12,
    ("effect", 0, "matches", "http", 0, "query", "a b"): 16,
    ("effect", 0, "matches", "http", 1): 17,
    ("effect", 0, "matches", "http", 1, "host"): 18,
    ("effect", 1): 20,
    ("effect", 1, "when"): 22,
    ("effect", 1, "list", 2, "a"): 23,
}


def test_lines() -> None:
    lines = lines_of(TEXT)
    assert {path: lines.get(path) for path in EXPECTED} == EXPECTED


def paths(value: object, path: KeyPath = ()) -> list[KeyPath]:
    """Every key path of a value that TOML can hold."""
    rows = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [*([path] if path else []), *(found for key, inner in rows for found in paths(inner, (*path, key)))]


def test_every_key_has_a_line() -> None:
    assert set(paths(tomli.loads(TEXT))) <= set(lines_of(TEXT)) | {("effect",)}


KEYS = st.sampled_from(["a", "b-1", '"x y"', "'q.q'", '"\\u00e9"'])
SCALARS = st.sampled_from(["1", '"#"', "'[a]'", "true", '"""\n]"""', "[]", "{}", "1979-05-27", '"\\""'])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda rows: "[\n" + ",\n".join(rows) + "# c ]\n]"),
        st.dictionaries(KEYS, inner, max_size=3).map(
            lambda t: "{" + ", ".join(f"{k} = {v}" for k, v in t.items()) + "}"
        ),
    ),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.dictionaries(KEYS, VALUES, max_size=3))
def test_every_key_of_any_text_has_a_line(top: dict[str, str], inner: dict[str, str]) -> None:
    rows = [f"{key} = {value}" for key, value in top.items()]
    rows += ["[[t]]", *(f"{key} = {value}" for key, value in inner.items()), "[t.u]", "v = 1", "[[t]]", "w = 2"]
    text = "\n".join(rows)
    lines = lines_of(text)
    assert set(paths(tomli.loads(text))) <= set(lines) | {("t",)}
    assert max(lines.values()) == text.count("\n") + 1


def test_key_text() -> None:
    assert key_text(("effect", 2, "matches", "http", 0, "a b", "c")) == 'effect[2].matches.http[0]."a b".c'
