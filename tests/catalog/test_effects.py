"""What holds of every effect that we ship, by itself and beside the others."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator

import pytest

from catalog.shipped import effects, library
from effectgate.policy.containment import contained, overlaps
from effectgate.policy.effect import Effect, Shape
from effectgate.policy.index import entry_of
from effectgate.policy.vocabulary import Risk

SAFE = {"GET", "HEAD", "OPTIONS"}

# Effects that a person narrows, and the parameters that every shape of them must bind for that.
SCOPES: list[tuple[set[str], list[str]]] = [
    (
        {"owner", "repo"},
        [
            "git/fetch", "git/push-branch", "git/fetch-gitlab", "git/push-gitlab", "git/fetch-bitbucket", "git/push-bitbucket",
            "github/read-repository", "github/read-files", "github/download-archive", "github/read-issue", "github/read-pull-request",
            "github/read-ci-logs", "github/read-artifacts", "github/read-releases", "github/read-deployments", "github/read-repo-settings",
            "github/read-security-alerts", "github/read-secret-names", "github/comment", "github/react", "github/open-issue",
            "github/triage-issue", "github/open-pr", "github/update-pr", "github/merge-pr", "github/write-files", "github/move-branch",
            "github/delete-branch", "github/create-release", "github/rerun-ci", "github/start-workflow", "github/approve-ci-run",
            "github/report-checks", "github/deploy", "github/change-repo-settings", "github/change-repo-access", "github/write-secrets",
        ],
    ),
    ({"org"}, ["github/read-organization", "github/read-audit-log", "github/read-org-secret-names", "github/write-org-secrets"]),
    (
        {"namespace"},
        [
            "kubernetes/read-workloads", "kubernetes/read-logs", "kubernetes/read-config", "kubernetes/read-secrets",
            "kubernetes/apply-manifest", "kubernetes/delete-workloads", "kubernetes/exec-into-pod", "kubernetes/write-secrets",
        ],
    ),
    (
        {"bucket"},
        [
            "aws/list-objects", "aws/read-object", "aws/read-bucket-settings", "aws/write-object", "aws/copy-object", "aws/tag-object",
            "aws/delete-object", "aws/change-object-access", "aws/administer-bucket",
        ],
    ),
    ({"account", "region"}, ["aws/pull-image", "aws/push-image"]),
    ({"function", "region"}, ["aws/invoke-function"]),
    ({"team", "token"}, ["slack/post-webhook"]),
]  # fmt: skip


def test_something_recognises_every_effect() -> None:
    assert [e.id for e in effects() if not (e.shapes or e.tools or e.commands or e.files)] == []


def test_effects_reach_the_hosts_of_their_shapes_and_no_others() -> None:
    for effect in effects():
        written = {host for host in effect.hosts if not host.startswith("@")}
        assert {shape.host.text for shape in effect.shapes if not shape.site} == written, effect.id


def test_no_effect_vouches_for_whole_hosts() -> None:
    assert [e.id for e in effects() if any(shape.vouch for shape in library().catalog.shapes(e.id))] == []


def test_a_read_takes_another_method_only_with_a_reason_and_never_a_body_on_a_safe_one() -> None:
    for effect in effects():
        for shape in effect.shapes if effect.risk is Risk.READ else ():
            assert shape.methods <= SAFE or shape.because, f"{effect.id}: {shape.path.text}"
            assert not shape.body, f"{effect.id}: {shape.path.text}"


def test_what_reads_secrets_is_reserved() -> None:
    assert [e.id for e in effects() if "secret_read" in e.sinks and not e.reserved] == []


def test_titles_are_unique_sentences_in_plain_words() -> None:
    titles = Counter(effect.title.casefold() for effect in effects())
    assert [title for title, times in titles.items() if times > 1] == []
    for effect in effects():
        assert len(effect.title) <= 80
        assert effect.title.isprintable()
        assert effect.title[0].isupper()
        assert not effect.title.endswith(".")


def _named(effect: Effect) -> Iterator[tuple[str, Effect]]:
    return ((name, effect) for name in effect.tools)


def _commanded(effect: Effect) -> Iterator[tuple[str, Effect]]:
    return ((name, effect) for name in effect.commands)


@pytest.mark.parametrize("names", [_named, _commanded])
def test_no_tool_or_command_stands_at_two_risks(names: Callable[[Effect], Iterator[tuple[str, Effect]]]) -> None:
    risks: dict[str, set[Risk]] = defaultdict(set)
    for name, effect in itertools.chain.from_iterable(map(names, effects())):
        risks[name].add(effect.risk)
    assert {name: found for name, found in risks.items() if len(found) > 1} == {}


@pytest.mark.parametrize(
    ("parameters", "ids"), SCOPES, ids=lambda value: " ".join(sorted(value)) if isinstance(value, set) else ""
)
def test_every_shape_binds_what_a_person_narrows_by(parameters: set[str], ids: list[str]) -> None:
    for effect in ids:
        for shape in library().catalog.shapes(effect):
            bound = shape.path.parameters | shape.host.parameters
            assert parameters <= bound, f"{effect}: {shape.host.text}{shape.path.text}"


def test_tenants_are_bound_by_every_shape_of_their_effect() -> None:
    tenants = {effect.id: effect.tenant for effect in effects() if effect.tenant}
    assert tenants == {
        "aws/pull-image": {"account"},
        "aws/push-image": {"account"},
        "slack/post-webhook": {"team"},
    }


def _specificity(effect: Effect, shape: Shape) -> Hashable:
    """What orders two matches before risk and id do, and the last labels of the host, without which they never meet."""
    return entry_of(effect, shape).rank[:3], shape.host.labels[-2:]


def test_no_request_is_two_risks_at_the_same_specificity() -> None:
    groups: dict[Hashable, list[tuple[Effect, Shape]]] = defaultdict(list)
    for effect in effects():
        for shape in library().catalog.shapes(effect.id):
            groups[_specificity(effect, shape)].append((effect, shape))
    pairs = itertools.chain.from_iterable(itertools.combinations(rows, 2) for rows in groups.values())
    clashes = [
        f"{one.id} and {two.id}: {shape.path.text}"
        for (one, shape), (two, other) in pairs
        if one.risk is not two.risk and shape.methods & other.methods and _neither_contains(shape, other)
    ]
    assert clashes == []


def _neither_contains(one: Shape, two: Shape) -> bool:
    texts = zip(one.path.segments, two.path.segments, strict=False)
    if any(mine.literal and its.literal and mine.prefix != its.prefix for mine, its in texts):
        return False  # the exact test would say so too, and takes a thousand times as long
    if not one.host.intersects(two.host):
        return False
    return overlaps(one, two) and not contained(one, two) and not contained(two, one)
