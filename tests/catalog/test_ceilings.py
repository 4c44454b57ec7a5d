"""The shipped ceilings: what fits each, and what fits none."""

from __future__ import annotations

import pytest

from catalog.shipped import effects, library
from effectgate.policy.effect import Effect
from effectgate.policy.vocabulary import Risk

NAMES = ["code-review", "codegen", "local-dev", "read-only", "release", "research-web", "safe-pr-fixer", "triage-bot"]

# Ceiling -> effects that a grant under it must be able to hold, and others that it must not.
EXPECTED: dict[str, tuple[list[str], list[str]]] = {
    "read-only": (
        [
            "fs/read-workspace", "git/read-history", "git/fetch", "github/read-ci-logs",
            "web/package-registry-pypi", "kubernetes/read-logs", "aws/read-inventory",
        ],
        [
            "fs/edit-workspace", "shell/run-tests", "github/comment", "llm/anthropic-ask",
            "kubernetes/read-secrets", "fs/read-credentials", "database/export-data",
        ],
    ),
    "code-review": (
        ["github/read-pull-request", "github/comment", "git/fetch", "llm/anthropic-ask"],
        [
            "github/open-pr", "git/push-branch", "shell/run-tests",
            "fs/edit-workspace", "github/read-secret-names", "web/publish-package-npm",
        ],
    ),
    "codegen": (
        ["fs/edit-workspace", "shell/run-tests", "shell/install-packages", "git/commit", "web/package-registry-npm", "llm/openai-ask"],
        ["git/push-branch", "github/open-pr", "github/rerun-ci", "git/configure", "shell/become-root", "fs/delete-files"],
    ),
    "safe-pr-fixer": (
        [
            "github/read-ci-logs", "web/package-registry-pypi", "github/open-pr", "git/push-branch",
            "github/comment", "shell/run-tests", "github/rerun-ci",
        ],
        [
            "github/merge-pr", "github/create-release", "web/publish-package-pypi", "github/publish-gist",
            "github/start-workflow", "slack/post-message", "git/rewrite-remote",
        ],
    ),
    "research-web": (
        ["web/search", "web/open-page", "web/read-documentation", "github/search", "llm/anthropic-ask"],
        ["github/comment", "fs/edit-workspace", "web/publish-package-npm", "slack/read-channel", "git/read-history"],
    ),
    "triage-bot": (
        ["github/read-issue", "github/triage-issue", "github/comment", "slack/post-message"],
        ["github/open-pr", "fs/edit-workspace", "shell/run-tests", "github/merge-pr", "slack/upload-file"],
    ),
    "release": (
        ["git/push-branch", "github/create-release", "web/publish-package-pypi", "web/push-image-ghcr", "shell/run-build"],
        ["github/merge-pr", "web/yank-package-crates", "web/unpublish-package-npm", "github/write-secrets", "web/account-npm"],
    ),
    "local-dev": (
        ["github/merge-pr", "kubernetes/apply-manifest", "aws/start-compute", "shell/run-command", "fs/read-credentials"],
        [
            "aws/delete-resources", "aws/mutate-iam", "kubernetes/delete-workloads",
            "database/drop-data", "github/graphql", "aws/mint-credentials",
        ],
    ),
}  # fmt: skip


def _fitting(ceiling: str) -> list[Effect]:
    return [effect for effect in effects() if not library().ceilings[ceiling].admits(effect)]


def test_these_ceilings_ship() -> None:
    assert sorted(library().ceilings) == NAMES
    assert sorted(EXPECTED) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_ceiling_holds_what_its_title_promises(name: str) -> None:
    fitting = {effect.id for effect in _fitting(name)}
    holds, clips = EXPECTED[name]
    assert [effect for effect in holds if effect not in fitting] == []
    assert [effect for effect in clips if effect in fitting] == []
    assert set(clips) <= set(library().catalog.effects)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_destructive_fits(name: str) -> None:
    assert [effect.id for effect in _fitting(name) if effect.risk is Risk.DESTRUCTIVE] == []


@pytest.mark.parametrize("name", [name for name in NAMES if name != "local-dev"])
def test_nothing_reserved_fits_below_a_developers_own_machine(name: str) -> None:
    reserved = {effect.id for effect in _fitting(name) if effect.reserved}
    assert reserved == ({"web/mint-token-nuget", "web/mint-token-pypi"} if name == "release" else set())
