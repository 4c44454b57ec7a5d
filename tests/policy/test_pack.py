"""Packs: every fault with its key, line and remedy; every key with its value (design.md section 2)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import rfc8785
from library import SHAPE, effect, faults, library, sources, text_of_published

from effectgate.packs_io import Source, Sources, load
from effectgate.policy.effect import INSPECT_DEFAULT, Effect
from effectgate.policy.fault import FaultsError
from effectgate.policy.pack import table_digest
from effectgate.policy.site import Sites
from effectgate.policy.vocabulary import Level, Risk
from effectgate.policy.words import is_effect_id

DATA = Path(__file__).parents[1] / "data" / "packs"
VECTORS = [json.loads(line) for line in (DATA / "loader_vectors.jsonl").read_text().splitlines()]


def rows(kind: str) -> list[dict[str, object]]:
    return [row for row in VECTORS if row["kind"] == kind]


def one(text: str, sites: Sites | None = None) -> Effect:
    effects = library({"demo": text}, sites=sites or Sites()).catalog.effects
    assert len(effects) == 1
    return next(iter(effects.values()))


S = f"{{ {SHAPE} }}"

# what is written, key, line, words of the message, words of the fix
BAD = [
    (effect(more='colour = "red"\n'), "effect[0].colour", 8, "unknown key colour", "the keys here are id, title"),
    (effect(more='levl = "never"\n'), "effect[0].levl", 8, "unknown key levl", "write level"),
    (effect(risk="harmless"), "effect[0].risk", 7, "'harmless' is not a risk", "read, write_local"),
    (effect(risk="destructiv"), "effect[0].risk", 7, "is not a risk", "write destructive"),
    (effect(more='level = "sometimes"\n'), "effect[0].level", 8, "is not a level", "never, low_risk, always"),
    (effect(more="reserved = 1\n"), "effect[0].reserved", 8, "1 is not true or false", "without quotes"),
    (effect(name="One"), "effect[0].id", 5, "'One' is not an id", "write 'one'"),
    (effect(name="-x"), "effect[0].id", 5, "is not an id", "write 'x'"),
    (effect(name="a/b"), "effect[0].id", 5, "is not an id", "write 'a-b'"),
    (effect().replace("Effect one", ""), "effect[0].title", 6, "empty or not printable", "one line"),
    (effect().replace("Effect one", "a\\u0007"), "effect[0].title", 6, "not printable", "plain text"),
    (effect().replace("Effect one", "x" * 81), "effect[0].title", 6, "81 characters", "shorten it to 80"),
    (effect().replace("Effect one", "\\u202eevil"), "effect[0].title", 6, "not printable", "plain text"),
    (effect().replace("Effect one", "\u05d0\u05d1"), "effect[0].title", 6, "bidirectional", "right-to-left"),
    (effect().replace('title = "Effect one"\n', ""), "effect[0].title", 4, "title is missing", "add the key title"),
    (effect(operations=""), "effect[0].lowers.operations", 9, "no operation", "web_fetch"),
    (effect(operations='"fly"'), "effect[0].lowers.operations[0]", 9, "'fly' is not an operation", "read_files"),
    (effect(lowers="ports = [443]\n"), "effect[0].lowers.ports", 11, "unknown key ports", "write hosts"),
    (effect(lowers='sinks = ["void"]\n'), "effect[0].lowers.sinks[0]", 11, "'void' is not a sink", "http_egress"),
    (effect(lowers='sinks = ["bash_exec"]\n'), "effect[0].lowers.sinks[0]", 11, "can produce", "add one of run_bash"),
    (effect(operations='"read_files"', http=""), "effect[0].lowers.hosts", 10, "no operation that can", "web_fetch"),
    (effect(operations='"read_files"'), "effect[0].matches.http", 12, "no operation that can", "web_fetch"),
    (effect(hosts='"x.example.com"'), "effect[0].matches.http[0].host", 13, "outside lowers.hosts", "api.example.com"),
    (effect(hosts='"*.example.com", "*foo.test"'), "effect[0].lowers.hosts[1]", 10, "fragment", "whole labels"),
    (effect(hosts='"api.example.com:443"'), "effect[0].lowers.hosts[0]", 10, "has a port", "ports"),
    (effect(hosts="", http=""), "effect[0].matches", 11, "nothing recognises", "matches.http"),
    (effect(http=S.replace("GET", "POST")), "effect[0].matches.http[0].method", 13, "matches POST", "because"),
    (effect(risk="write_local", http=S.replace("GET", "DELETE")), "effect[0].matches.http[0].method", 13, "DELETE", "because"),
    (effect(http=S.replace("GET", "get")), "effect[0].matches.http[0].method", 13, "upper case", "write 'GET'"),
    (effect(http=S.replace('"GET"', "[]")), "effect[0].matches.http[0].method", 13, "empty", "at least one"),
    (effect(http='{ method = "GET", host = "api.example.com" }'), "effect[0].matches.http[0].path", 13, "missing", "add"),
    (effect(http=S.replace("/items", "items")), "effect[0].matches.http[0].path", 13, "does not begin", "/"),
    (effect(http=S.replace(" }", ", pth = 1 }")), "effect[0].matches.http[0].pth", 13, "unknown key", "write path"),
    (effect(http=S.replace(" }", ', inspect = "8 MB" }')), "effect[0].matches.http[0].inspect", 13, "not a size", "8 MiB"),
    (effect(http=S.replace(" }", ", inspect = 8 }")), "effect[0].matches.http[0].inspect", 13, "not a size", "quotes"),
    (effect(http=S.replace(" }", ", ports = [0] }")), "effect[0].matches.http[0].ports[0]", 13, "not a port", "65535"),
    (effect(http=S.replace(" }", ", ports = [] }")), "effect[0].matches.http[0].ports", 13, "empty", "leave the key out"),
    (effect(http=S.replace(" }", ', scheme = "ftp" }')), "effect[0].matches.http[0].scheme", 13, "'ftp'", "https"),
    (effect(http=S.replace(" }", ', query = "a" }')), "effect[0].matches.http[0].query", 13, "not a table", "key = value"),
    (effect(http=S.replace(" }", ", query = { a = 1 } }")), "effect[0].matches.http[0].query.a", 13, "1 is not", "quotes"),
    (effect(http=S.replace(" }", ", query = { a = [] } }")), "effect[0].matches.http[0].query.a", 13, "empty", "one"),
    (
        effect(http=S.replace(" }", ', headers = { X-A = "1", x-a = "2" } }')),
        "effect[0].matches.http[0].headers", 13, "written twice", "keep one",
    ),
    (
        effect(http=S.replace(" }", ', headers = { "x y" = "1" } }')),
        "effect[0].matches.http[0].headers.\"x y\"", 13, "not a header name", "letters",
    ),
    (effect(http=S.replace(" }", ', secret = ["tok"] }')), "effect[0].matches.http[0].secret", 13, "no parameter tok", "{tok}"),
    (effect(http=S.replace(" }", ', tenant = ["org"] }')), "effect[0].matches.http[0].tenant", 13, "org is not bound", "every"),
    (
        effect(http=S.replace(" }", ', ignore_case = ["x"] }')),
        "effect[0].matches.http[0].ignore_case", 13, "no parameter x", "bind {x}",
    ),
    (effect(http=S.replace(" }", ', ignore_case = "x" }')), "effect[0].matches.http[0].ignore_case", 13, "neither", "true"),
    (effect(http=S.replace(" }", ', query = { q = "{id}" } }')), "effect[0].matches.http[0]", 13, "{id} twice", "own name"),
    (
        effect(http=S.replace(" }", ', graphql = { operation = "delete" } }')),
        "effect[0].matches.http[0].graphql.operation", 13, "'delete'", "query",
    ),
    (effect(matches='headers = ["x"]\n'), "effect[0].matches.headers", 15, "unknown key headers", "the keys here are"),
    (effect(matches='commands = [" "]\n'), "effect[0].matches.commands[0]", 15, "empty", "first words"),
    (effect(matches='mcp_tools = ["a b"]\n'), "effect[0].matches.mcp_tools[0]", 15, "not the name of a tool", "lists"),
    (effect(matches='tool_params = { id = "n" }\n'), "effect[0].matches.tool_params", 15, "binds nothing", "mcp_tools"),
    (effect(matches='files = [{ op = "run", path = "/x" }]\n'), "effect[0].matches.files[0].op", 15, "'run'", "read"),
    (effect() + effect(), "effect[1].id", 16, "already given on line 4", "another id"),
    ("[[example]]\nrequest = 1\n", "example[0].request", 5, "1 is not text", "quotes"),
    ('[[example]]\ngrant = "a"\nrequest = "GET /"\nexpect = "maybe"\n', "example[0].expect", 7, "'maybe'", "allow"),
    ("[other]\n", "other", 4, "unknown key other", "plugin, effect, example"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "key", "line", "message", "fix"), BAD, ids=[f"{row[1]}-{row[3]}" for row in BAD])
def test_a_fault_names_key_line_and_remedy(text: str, key: str, line: int, message: str, fix: str) -> None:
    found = [fault for fault in faults({"demo": text}) if fault.key == key and message in fault.message]
    assert len(found) == 1, faults({"demo": text})
    assert (found[0].file, found[0].line) == ("demo.toml", line)
    assert fix in found[0].fix


def test_most_rows_have_that_fault_alone() -> None:
    alone = [row for row in BAD if len(faults({"demo": row[0]})) == 1]
    assert len(alone) >= len(BAD) - 6


def test_one_run_reports_the_faults_of_all_rows() -> None:
    several = effect("a", more="x = 1\n", http=S.replace("GET", "POST") + ",\n{ host = 1, path = 2, colour = 3 }")
    found = faults({"demo": several, "other": effect(risk="no"), "third": "x = 1\n"})
    keys = {(fault.file, fault.key) for fault in found}
    assert {
        ("demo.toml", "effect[0].x"),
        ("demo.toml", "effect[0].matches.http[0].method"),
        ("demo.toml", "effect[0].matches.http[1].host"),
        ("demo.toml", "effect[0].matches.http[1].path"),
        ("demo.toml", "effect[0].matches.http[1].colour"),
        ("demo.toml", "effect[0].matches.http[1].method"),
        ("other.toml", "effect[0].risk"),
        ("third.toml", "plugin.x"),
    } <= keys
    assert list(found) == sorted(found)


def test_because_lets_a_read_post() -> None:
    row = S.replace("GET", "POST").replace(" }", ', because = "a search" }')
    assert one(effect(http=row)).shapes[0].because == "a search"


def test_write_local_may_put_and_post() -> None:
    assert one(effect(risk="write_local", http=S.replace('"GET"', '["PUT", "POST"]'))).risk is Risk.WRITE_LOCAL


ALL_KEYS = """{ method = ["GET", "POST"], host = "{org}.Example.com", path = "/r/{id}", scheme = "http", ports = [8080],
  query = { ref = ["main", "release-*"], who = "{who}" }, headers = { X-Kind = "a*" }, form = { f = "v" },
  json = { "/a/b" = "c" }, graphql = { operation = "query", fields = ["viewer"] }, query_only = ["page"],
  absent = ["X-Admin"], body = true, inspect = "8 MiB", websocket = true, encoded_slash = true,
  ignore_case = ["id"], secret = ["who"], tenant = ["org"], because = "because" }"""


def test_every_key_of_a_shape_arrives() -> None:
    shape = one(effect(http=ALL_KEYS, hosts='"*.example.com"')).shapes[0]
    assert (shape.methods, shape.host.text, shape.path.text) == ({"GET", "POST"}, "{org}.example.com", "/r/{id}")
    assert (shape.scheme, shape.ports, shape.ports_explicit) == ("http", {8080}, True)
    assert {name: [v.text for v in values] for name, values in shape.query.items()} == {
        "ref": ["main", "release-*"],
        "who": ["{who}"],
    }
    assert [*shape.headers] == ["x-kind"]
    assert [*shape.form] == ["f"]
    assert [*shape.json] == ["/a/b"]
    assert shape.graphql is not None
    assert (shape.graphql.operation, [f.text for f in shape.graphql.fields]) == ("query", ["viewer"])
    assert shape.query_only == frozenset({"page", "ref", "who"})
    assert isinstance(shape.query_only, frozenset)
    assert shape.absent == {"x-admin"}
    assert (shape.body, shape.websocket, shape.encoded_slash) == (True, True, True)
    assert (shape.inspect, shape.because) == (8 << 20, "because")
    assert (shape.ignore_case, shape.fold) == ({"id"}, False)
    assert (shape.secret, shape.tenant) == ({"who"}, {"org"})


def test_defaults_of_a_shape() -> None:
    shape = one(effect()).shapes[0]
    assert (shape.scheme, shape.ports, shape.ports_explicit) == ("https", {443}, False)
    assert (shape.inspect, shape.query_only, shape.body) == (INSPECT_DEFAULT, None, False)
    assert one(effect(http=S.replace(" }", ', scheme = "http" }'))).shapes[0].ports == {80}


def test_ignore_case_true_folds_the_path() -> None:
    shape = one(effect(http=S.replace(" }", ", ignore_case = true }"))).shapes[0]
    assert shape.fold
    assert shape.path.match(("ITEMS", "7")) == {"id": "7"}


def test_every_key_of_an_effect_arrives() -> None:
    text = effect(
        more='level = "always"\nreserved = true\n',
        lowers='sinks = ["http_egress"]\n',
        matches='mcp_tools = ["get_item"]\ntool_params = { id = "item" }\ncommands = ["item show"]\n'
        'files = [{ op = "write", path = "/items/{id}" }]\n',
    )
    got = one(text)
    assert (got.id, got.pack, got.title, got.level, got.reserved) == (
        "demo/one",
        "demo",
        "Effect one",
        Level.ALWAYS,
        True,
    )
    assert (got.operations, got.sinks, got.hosts) == (("web_fetch",), ("http_egress",), ("api.example.com",))
    assert (got.tools, got.tool_params, got.commands) == (("get_item",), {"id": "item"}, ("item show",))
    assert [(file.op, file.path.text) for file in got.files] == [("write", "/items/{id}")]
    assert got.parameters == {"id"}


PARAMETERS = [
    (
        "every shape",
        effect(http=f'{S}, {{ method = "GET", host = "api.example.com", path = "/x/{{id}}/{{n}}" }}'),
        {"id"},
    ),
    ("alternatives", effect(http=S.replace(" }", ', query = { q = ["{q}", "x"] } }')), {"id"}),
    ("all alternatives", effect(http=S.replace(" }", ', query = { q = ["a{q}", "b{q}"] } }')), {"id", "q"}),
    ("a vouch", effect(http=""), set()),
    ("tools", effect(http="", hosts="", matches='mcp_tools = ["t"]\ntool_params = { id = "x" }\n'), {"id"}),
    ("bare", effect(http="", hosts="", matches='mcp_tools = ["t"]\n'), None),
]


@pytest.mark.parametrize(("text", "names"), [row[1:] for row in PARAMETERS], ids=[row[0] for row in PARAMETERS])
def test_what_a_where_may_name(text: str, names: set[str] | None) -> None:
    assert one(text).parameters == names


SITE = effect(http=S.replace("api.example.com", "@cluster"), hosts='"@cluster", "example.com"')


def test_a_site_makes_one_shape_for_each_host() -> None:
    shapes = one(SITE, Sites.parse({"cluster": ["k8s.internal:6443", "10.0.0.1", "k8s.internal:443"]})).shapes
    assert [(s.host.text, s.ports, s.ports_explicit, s.site) for s in shapes] == [
        ("k8s.internal", {6443, 443}, True, "cluster"),
        ("10.0.0.1", {443}, True, "cluster"),
    ]


def test_an_unset_site_matches_nothing_and_makes_no_vouch() -> None:
    catalog = library({"demo": SITE}).catalog
    got = catalog.effects["demo/one"]
    assert (got.shapes, got.hosts, got.parameters) == ((), ("@cluster",), {"id"})
    assert catalog.shapes("demo/one") == ()


def test_a_vouch_gets_the_hosts_of_its_sites_on_443() -> None:
    sites = Sites.parse({"cluster": ["a.internal", "b.internal:6443"]})
    assert one(effect(http="", hosts='"@cluster"'), sites).hosts == ("@cluster", "a.internal")


def test_the_file_bears_the_name_of_the_pack() -> None:
    text = sources({"demo": effect()}).packs[0].text.replace("demo", "other")
    with pytest.raises(FaultsError) as caught:
        load(Sources((Source("demo.toml", "demo", text, True),), ()))
    assert [(f.key, f.line, f.fix) for f in caught.value.faults] == [("plugin.name", 2, "name the file other.toml")]


@pytest.mark.parametrize("value", [{"a": 'x\u00e9"\\\n\x01\x7f', "b": [1, True, {"z": "", "a": 10**12}]}, {}])
def test_the_digest_is_over_rfc_8785(value: dict[str, object]) -> None:
    canonical = rfc8785.dumps(["demo", value])  # type: ignore[arg-type]
    assert table_digest("demo", value) == "sha256:" + hashlib.sha256(canonical).hexdigest()


def test_the_digest_follows_the_table_and_not_its_layout() -> None:
    plain, spaced = one(effect()), one(effect().replace(" = ", "   =   ") + "# a comment\n")
    assert plain.digest == spaced.digest
    assert plain.digest != one(effect(risk="publish")).digest


@pytest.mark.parametrize("row", rows("pack_reject"), ids=lambda row: str(row["why"]))
def test_published_rejections_hold(row: dict[str, object]) -> None:
    text = str(row["toml"])
    name = "github" if '"github"' in text else "demo"
    with pytest.raises(FaultsError):
        load(Sources((Source(f"{name}.toml", name, text, True),), ()))


@pytest.mark.parametrize("row", rows("effect_id_valid"), ids=lambda row: repr(row["id"]))
def test_published_ids_hold(row: dict[str, object]) -> None:
    assert is_effect_id(str(row["id"])) is row["expect"]


# Rows marked `hole`: what we answer. All that is not here we answer as the row does.
BETTER_HOSTS = {"*": False, "api.*": False, "*.*": False, "-a-.b": False}


@pytest.mark.parametrize("row", rows("host_pattern_valid"), ids=lambda row: repr(row["pattern"]))
def test_published_hosts_hold(row: dict[str, object]) -> None:
    pattern = str(row["pattern"])
    expected = BETTER_HOSTS[pattern] if row.get("hole") and pattern in BETTER_HOSTS else row["expect"]
    text = effect(http="", hosts=json.dumps(pattern))
    if expected:
        assert one(text).hosts == (pattern.lower(),)
    else:
        assert any(fault.key == "effect[0].lowers.hosts[0]" for fault in faults({"demo": text}))


PUBLISHED = json.loads((DATA / "published_effects.json").read_text())
# These vouch for hosts that a riskier one vouches for too: a fault here (design.md section 2).
SHARED_VOUCHES = {"aws/read-inventory", "aws/start-compute"}


def published(without: set[str]) -> dict[str, str]:
    packs: dict[str, str] = {}
    for row in PUBLISHED:
        if row["id"] not in without:
            pack = row["id"].partition("/")[0]
            packs[pack] = packs.get(pack, "") + text_of_published(row)
    return packs


def test_the_published_effects_load_but_for_shared_vouches() -> None:
    assert len(library(published(SHARED_VOUCHES)).catalog.effects) == 39 - len(SHARED_VOUCHES)


def test_the_shared_vouches_are_faults() -> None:
    found = faults(published(set()))
    assert {fault.message.partition(" ")[0] for fault in found} == SHARED_VOUCHES
    assert {fault.file for fault in found} == {"aws.toml"}
