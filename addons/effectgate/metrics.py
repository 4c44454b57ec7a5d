"""What Prometheus sees (design.md section 9). Labels come from configuration only: a scan of a million hosts adds no series."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, start_http_server

from effectgate.boundary import Outcome
from effectgate.policy.verdict import Verdict
from effectgate.setting_values import Address

# What a label becomes that no configuration knows.
OTHER = "other"
DECISION_BUCKETS = (0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.1, 1.0)
LATENCY_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0)


disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each, that nobody asked for


class Metrics:
    """Every series of this installation, in a registry of its own. It is the boundary's observer; `traffic` is the proxy's."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._principals: frozenset[str] = frozenset()
        self._risks: Mapping[str, str] = {}

        def counter(name: str, help_text: str, *labels: str) -> Counter:
            return Counter(f"effectgate_{name}", help_text, labels, registry=registry)

        def gauge(name: str, help_text: str, *labels: str) -> Gauge:
            return Gauge(f"effectgate_{name}", help_text, labels, registry=registry)

        def histogram(name: str, help_text: str, buckets: tuple[float, ...] = LATENCY_BUCKETS) -> Histogram:
            return Histogram(f"effectgate_{name}", help_text, buckets=buckets, registry=registry)

        self._requests = counter("requests", "Decisions.", "principal", "effect", "verdict", "reason_code")
        self._would_admit = counter("would_admit", "Refusals an effect would admit.", "principal", "effect", "risk")
        self._decision = histogram("decision_seconds", "From facts to verdict.", DECISION_BUCKETS)
        self._commit = histogram("receipt_commit_seconds", "How long a receipt waited to be durable.")
        self._receipts = counter("receipts", "Receipts made durable.")
        self._remaining = gauge("grant_limit_remaining", "What is left of a limit.", "principal", "limit")
        self._expires = gauge("grant_expires_seconds", "Seconds until a grant expires.", "principal")
        self._reloads = counter("reload", "Reloads of packs, grants and settings.", "result")
        self._catalog = gauge("catalog_info", "The catalog in force.", "digest")
        self._reloaded_well = gauge(
            "reload_last_successful", "Whether what the files say is in force: 0 after a refused reload."
        )
        self._pending = gauge("escalations_pending", "Escalations that wait for a person.")
        for result in ("ok", "error"):
            self._reloads.labels(result)
        self._reloaded_well.set(1)
        self._pending.set(0)
        self.traffic = Traffic(registry)

    def configure(self, principals: Iterable[str], risks: Mapping[str, str], digest: str) -> None:
        """The label values that may appear: principals, effects with their risk words, the catalog's digest."""
        self._principals = frozenset(principals)
        self._risks = dict(risks)
        self._catalog.clear()
        self._catalog.labels(digest).set(1)
        self._remaining.clear()  # of limits that are gone; those in force come back with their next request

    def watch_expiry(self, expires: Mapping[str, datetime], now: Callable[[], datetime]) -> None:
        """Grants with an expiry, by principal; each is counted down at every scrape."""
        self._expires.clear()
        for principal, end in expires.items():
            self._expires.labels(principal).set_function(partial(_seconds_until, end, now))

    def decided(self, principal: str, verdict: Verdict, seconds: float) -> None:
        """One verdict, and how long the decision took, facts to verdict."""
        who = self._principal(principal)
        self._requests.labels(who, self._effect(verdict.effect), verdict.verdict, verdict.reason_code).inc()
        self._decision.observe(seconds)
        for proposal in verdict.would_admit:
            effect = self._effect(proposal.effect)
            self._would_admit.labels(who, effect, self._risks.get(effect, "")).inc()

    def committed(self, seconds: float) -> None:
        """One receipt is durable, after so many seconds of waiting."""
        self._receipts.inc()
        self._commit.observe(seconds)

    def completed(self, principal: str, effect: str | None, outcome: Outcome) -> None:
        """Nothing: `Traffic` counts what went to origins."""

    def remaining(self, principal: str, left: Mapping[str, int]) -> None:
        """What is left of the limits of a grant, by name: `requests`, `upload_bytes`."""
        if principal in self._principals:
            for limit, amount in left.items():
                self._remaining.labels(principal, limit).set(amount)

    def reloaded(self, ok: bool) -> None:
        """A reload was tried."""
        self._reloads.labels("ok" if ok else "error").inc()
        self._reloaded_well.set(ok)

    def serve(self, address: Address) -> WSGIServer:
        """Serve `/metrics` on a port of its own, from a thread; close with `shutdown()`. Raises OSError naming the address."""
        try:
            server, _ = start_http_server(address.port, address.host, self.registry)
        except OSError as error:
            raise OSError(error.errno, f"{error.strerror}: {address}") from error
        return server

    def _principal(self, name: str) -> str:
        return name if name in self._principals or not name else OTHER

    def _effect(self, effect: str | None) -> str:
        if not effect:
            return ""
        return effect if effect in self._risks else OTHER


class Traffic:
    """What the proxy reports; the kinds come from closed lists in its code."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._latency = Histogram(
            "effectgate_added_latency_seconds",
            "From a request's head to its durable answer.",
            buckets=LATENCY_BUCKETS,
            registry=registry,
        )
        self._bytes = Counter(
            "effectgate_upstream_bytes", "Body bytes exchanged with origins.", ["direction"], registry=registry
        )
        self._errors = Counter(
            "effectgate_upstream_errors", "Allowed requests that failed at the origin.", ["kind"], registry=registry
        )
        self._unreceipted = Counter(
            "effectgate_unreceipted", "Refusals that leave no receipt of their own.", ["kind"], registry=registry
        )
        self._closed = Counter(
            "effectgate_closed_connections", "Connections ended by a limit.", ["kind"], registry=registry
        )
        self._open = Gauge("effectgate_open_connections", "Client connections.", registry=registry)
        for direction in ("sent", "received"):
            self._bytes.labels(direction)

    def connections(self, count: int) -> None:
        """How many client connections are open."""
        self._open.set(count)

    def unreceipted(self, kind: str) -> None:
        """A refusal without a receipt: no credential, a head that is no request, too many connections."""
        self._unreceipted.labels(kind).inc()

    def closed(self, kind: str) -> None:
        """A connection that a limit ended."""
        self._closed.labels(kind).inc()

    def upstream_error(self, kind: str) -> None:
        """An allowed request got nowhere."""
        self._errors.labels(kind).inc()

    def upstream_bytes(self, sent: int, received: int) -> None:
        """Body bytes of one allowed request, to and from its origin."""
        self._bytes.labels("sent").inc(sent)
        self._bytes.labels("received").inc(received)

    def decided(self, seconds: float) -> None:
        """How long the proxy took over one request, from its head to its answer."""
        self._latency.observe(seconds)


def _seconds_until(end: datetime, now: Callable[[], datetime]) -> float:
    return (end - now()).total_seconds()
