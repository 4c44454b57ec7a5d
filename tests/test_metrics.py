"""Metrics: what an answer counts as, and that no request can make a series."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families

from effectgate.metrics import Metrics
from effectgate.policy.verdict import Proposal, Verdict
from effectgate.policy.vocabulary import Decision, Reason, Risk
from effectgate.setting_values import Address

ALLOW = Verdict(Decision.ALLOW, Reason.NONE, "", effect="github/read")


def deny(*effects: str) -> Verdict:
    asks = tuple(Proposal(effect, "", Risk.DESTRUCTIVE) for effect in effects)
    return Verdict(Decision.DENY, Reason.INSUFFICIENT_PRIVILEGE, "", would_admit=asks)


@pytest.fixture
def metrics() -> Metrics:
    metrics = Metrics()
    metrics.configure(["ci-fixer"], {"github/read": "read", "github/open-pr": "publish"}, "sha256:abc")
    return metrics


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"effectgate_{name}", labels)


def series(metrics: Metrics) -> Iterator[str]:
    for family in metrics.registry.collect():
        for sample in family.samples:
            yield f"{sample.name}{sample.labels}"


def test_an_answer_is_counted_by_principal_effect_verdict_and_reason(metrics: Metrics) -> None:
    metrics.decided("ci-fixer", ALLOW, 0.001)
    metrics.decided("ci-fixer", deny("github/open-pr"), 0.001)
    labels = {"principal": "ci-fixer", "effect": "github/read", "verdict": "ALLOW", "reason_code": ""}
    assert value(metrics, "requests_total", **labels) == 1
    labels = {"principal": "ci-fixer", "effect": "", "verdict": "DENY", "reason_code": "INSUFFICIENT_PRIVILEGE"}
    assert value(metrics, "requests_total", **labels) == 1
    labels = {"principal": "ci-fixer", "effect": "github/open-pr", "risk": "publish"}
    assert value(metrics, "would_admit_total", **labels) == 1
    assert value(metrics, "decision_seconds_count") == 2


def test_no_request_makes_a_series(metrics: Metrics) -> None:
    metrics.decided("stranger", deny("made/up"), 0.001)
    metrics.remaining("stranger", {"requests": 1})
    before = set(series(metrics))
    for n in range(200):
        metrics.decided(f"stranger-{n}", deny(f"made/up-{n}"), 0.001)
        metrics.remaining(f"stranger-{n}", {"requests": 1})
    assert set(series(metrics)) == before


def test_bytes_errors_and_connections_are_the_proxys_to_report(metrics: Metrics) -> None:
    metrics.traffic.upstream_bytes(10, 300)
    metrics.traffic.upstream_error("connect")
    metrics.traffic.unreceipted("credential")
    metrics.traffic.connections(7)
    assert value(metrics, "upstream_bytes_total", direction="sent") == 10
    assert value(metrics, "upstream_bytes_total", direction="received") == 300
    assert value(metrics, "upstream_errors_total", kind="connect") == 1
    assert value(metrics, "unreceipted_total", kind="credential") == 1
    assert value(metrics, "open_connections") == 7


def test_a_reload_replaces_the_digest_and_is_counted(metrics: Metrics) -> None:
    metrics.configure(["ci-fixer"], {}, "sha256:def")
    assert value(metrics, "reload_last_successful") == 1
    metrics.reloaded(True)
    metrics.reloaded(False)
    assert value(metrics, "reload_last_successful") == 0, "the old state is in force"
    metrics.reloaded(True)
    assert value(metrics, "reload_last_successful") == 1
    assert value(metrics, "catalog_info", digest="sha256:abc") is None
    assert value(metrics, "catalog_info", digest="sha256:def") == 1
    assert value(metrics, "reload_total", result="error") == 1


def test_grants_are_read_at_the_scrape(metrics: Metrics) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    metrics.watch_expiry({"ci-fixer": now + timedelta(hours=1)}, lambda: now)
    metrics.remaining("ci-fixer", {"requests": 41})
    metrics.committed(0.0004)
    assert value(metrics, "grant_expires_seconds", principal="ci-fixer") == 3600
    assert value(metrics, "grant_limit_remaining", principal="ci-fixer", limit="requests") == 41
    assert value(metrics, "receipts_total") == 1


def test_every_name_of_the_design_is_on_the_page(metrics: Metrics) -> None:
    metrics.watch_expiry({"ci-fixer": datetime(2030, 1, 1, tzinfo=UTC)}, lambda: datetime.now(UTC))
    metrics.decided("ci-fixer", deny("github/open-pr"), 0.001)
    metrics.traffic.decided(0.002)
    metrics.traffic.upstream_error("tls")
    metrics.remaining("ci-fixer", {"requests": 1})
    server = metrics.serve(Address("127.0.0.1", 0))
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{server.server_port}/metrics", timeout=5) as answer:
            page = answer.read().decode()
    finally:
        server.shutdown()
        server.server_close()
    names = {sample.name for family in text_string_to_metric_families(page) for sample in family.samples}
    assert {f"effectgate_{name}" for name in DESIGN} <= names


DESIGN = {
    "requests_total",
    "would_admit_total",
    "decision_seconds_count",
    "added_latency_seconds_count",
    "receipt_commit_seconds_count",
    "receipts_total",
    "upstream_bytes_total",
    "upstream_errors_total",
    "grant_limit_remaining",
    "grant_expires_seconds",
    "reload_total",
    "catalog_info",
    "escalations_pending",
    "open_connections",
}


def test_what_is_left_of_a_limit_that_is_gone_is_told_no_more(metrics: Metrics) -> None:
    metrics.remaining("ci-fixer", {"requests": 3, "upload_bytes": 9})
    metrics.configure(["ci-fixer"], {}, "sha256:def")
    metrics.remaining("ci-fixer", {"requests": 3})
    assert [name for name in series(metrics) if "grant_limit_remaining" in name] == [
        "effectgate_grant_limit_remaining{'principal': 'ci-fixer', 'limit': 'requests'}"
    ]
