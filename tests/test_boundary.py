"""The boundary: decide, append, then answer; whatever breaks on the way is a refusal."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from effectgate.boundary import Answer, Attempt, Caller, EffectBoundary, Outcome
from effectgate.policy.catalog import Catalog
from effectgate.policy.effect import Effect, Shape
from effectgate.policy.facts import RequestFacts, facts_from_url
from effectgate.policy.grant import Grant, GrantEntry, Limits, grant_of_ids
from effectgate.policy.host import HostPattern
from effectgate.policy.path import PathPattern
from effectgate.policy.rulebook import Rulebook
from effectgate.policy.verdict import Verdict
from effectgate.policy.vocabulary import Decision, Reason, Risk
from effectgate.receipts.denials import group_denials
from effectgate.receipts.evidence import Evidence
from effectgate.receipts.folding import RefusalMeter
from effectgate.receipts.record import Draft, Sealed
from effectgate.receipts.store import Spend, StoreError
from effectgate.receipts.store_keys import publish, signing_key
from effectgate.receipts.store_limits import Ledger, used_so_far
from effectgate.receipts.store_reading import reading, verify_file
from effectgate.receipts.store_sqlite import SqliteStore
from effectgate.watchdog import Watchdog

CALLER = Caller("ci-fixer", "session-1")
READ, PUSH = "https://api.test/repos/acme/web", "https://api.test/repos/acme/web/pulls"


def an_effect(effect_id: str, risk: Risk, methods: str, path: str, **keys: Any) -> Effect:
    shape = Shape(frozenset(methods.split()), HostPattern.parse("api.test"), PathPattern.parse(path), **keys)
    return Effect(effect_id, effect_id, risk, ("web_fetch",), hosts=("api.test",), shapes=(shape,), digest="sha256:e")


CATALOG = Catalog.build(
    [
        an_effect("test/read-repo", Risk.READ, "GET HEAD", "/repos/{owner}/{repo}"),
        an_effect("test/open-pr", Risk.PUBLISH, "POST", "/repos/{owner}/{repo}/pulls", body=True),
        an_effect("test/bot", Risk.PUBLISH, "POST", "/bot{token}/send", body=True, secret=frozenset({"token"})),
    ]
)


def a_grant(*ids: str, **changes: Any) -> Grant:
    return replace(grant_of_ids(CATALOG, ids, "ci-fixer"), **changes)


def rules(*ids: str, **changes: Any) -> Rulebook:
    return Rulebook(CATALOG, {"ci-fixer": a_grant(*ids, **changes)} if ids else {})


@dataclass
class Seen:
    """An observer that remembers."""

    verdicts: list[tuple[str, Verdict]] = field(default_factory=list)
    commits: int = 0
    outcomes: list[Outcome] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)

    def decided(self, principal: str, verdict: Verdict, seconds: float) -> None:
        self.verdicts.append((principal, verdict))

    def committed(self, seconds: float) -> None:
        self.commits += 1

    def completed(self, principal: str, effect: str | None, outcome: Outcome) -> None:
        self.outcomes.append(outcome)

    def remaining(self, principal: str, left: Any) -> None:
        self.left = dict(left)


@dataclass
class World:
    """A boundary on a store of its own."""

    state: Path
    boundary: EffectBoundary
    seen: Seen
    faults: list[BaseException]

    async def ask(self, method: str = "GET", url: str = READ, **more: Any) -> Answer:
        return await self.boundary.submit(CALLER, facts_from_url(method, url, **more))

    def receipts(self) -> list[dict[str, Any]]:
        with reading(self.state / "receipts.db") as store:
            return [receipt for _, receipt in store.receipts()]

    def last(self) -> dict[str, Any]:
        return self.receipts()[-1]


@asynccontextmanager
async def world(state: Path, book: Rulebook, store: Any = None, **options: Any) -> AsyncIterator[World]:
    state.mkdir(mode=0o700, exist_ok=True)
    key = signing_key(state)
    publish(state / "trust.json", key)
    evidence = options.pop("evidence", Evidence(b"k" * 32))
    used = store or SqliteStore(state, key)
    seen, faults = Seen(), list[BaseException]()
    watchdog = Watchdog(options.pop("hang", 1.0))
    boundary = EffectBoundary(
        book,
        used,
        evidence,
        Ledger(lambda: used_so_far(state)),
        observer=seen,
        report=faults.append,
        watchdog=watchdog,
        **options,
    )
    try:
        yield World(state, boundary, seen, faults)
    finally:
        await boundary.close()
        used.close()


def in_world(state: Path, book: Rulebook, scene: Callable[[World], Any], **options: Any) -> None:
    async def play() -> None:
        async with world(state, book, **options) as it:
            await scene(it)

    asyncio.run(play())


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "var"


def intact(state: Path) -> bool:
    return verify_file(state / "receipts.db", state / "trust.json").exit_code == 0


def test_an_allow_is_on_disk_before_it_is_told(state: Path) -> None:
    async def scene(it: World) -> None:
        answer = await it.ask()
        assert (answer.allowed, answer.status, answer.effect) == (True, 200, "test/read-repo")
        receipt = it.last()
        assert (receipt["receipt_id"], receipt["decision_id"]) == (answer.receipt_id, answer.decision_id)
        assert receipt["args"]["host"] == "api.test"
        assert receipt["args"]["principal"] == "ci-fixer"
        assert receipt["args"]["inspected"] == "full"
        assert receipt["policy"]["effect"] == "test/read-repo"
        assert receipt["policy"]["catalog"] == CATALOG.digest
        assert receipt["policy"]["grant"] == a_grant("test/read-repo").digest
        assert dict(answer.headers)["X-Effectgate-Receipt"] == answer.receipt_id
        assert answer.body == {}

    in_world(state, rules("test/read-repo"), scene)
    assert intact(state)


def test_a_refusal_names_what_would_admit(state: Path) -> None:
    async def scene(it: World) -> None:
        answer = await it.ask("POST", PUSH, body=b"{}")
        assert (answer.verdict, answer.status) == (Decision.DENY, 403)
        assert dict(answer.headers) == {
            "X-Effectgate-Verdict": "DENY",
            "X-Effectgate-Reason": "INSUFFICIENT_PRIVILEGE",
            "X-Effectgate-Effect": "test/open-pr",
            "X-Effectgate-Receipt": answer.receipt_id,
        }
        assert list(answer.body) == [
            *("verdict", "reason_code", "reason", "request", "would_admit", "next_step"),
            *("escalation_id", "receipt_id", "principal"),
        ]
        assert answer.body["request"] == {
            "method": "POST",
            "scheme": "https",
            "host": "api.test",
            "port": 443,
            "path": "/repos/acme/web/pulls",
        }
        where = {"owner": "acme", "repo": "web"}
        assert answer.body["would_admit"] == [
            {
                "effect": "test/open-pr",
                "title": "test/open-pr",
                "risk": "publish",
                "where": where,
                "within_ceiling": True,
            }
        ]
        ask = json.dumps({"effect": "test/open-pr", "where": where})
        assert answer.body["next_step"] == f"ask for it: POST http://effectgate.internal/v1/escalate {ask}"
        assert it.last()["policy"]["would_admit"] == [{"effect": "test/open-pr", "risk": "publish", "where": where}]
        assert it.last()["args"]["body"]["sha256"].startswith("44136fa355b3678a")

    in_world(state, rules("test/read-repo"), scene)


def test_a_refusal_for_an_unnamed_host_discloses_nothing(state: Path) -> None:
    async def scene(it: World) -> None:
        answer = await it.ask("GET", "https://other.test/x")
        assert (answer.reason_code, answer.body["would_admit"]) == (Reason.DATA_EGRESS_BLOCKED, [])
        text = json.dumps(answer.body)
        assert "api.test" not in text
        assert "test/read-repo" not in text
        assert "a person can add one" in text

    in_world(state, rules("test/read-repo"), scene)


def test_no_grant(state: Path) -> None:
    async def scene(it: World) -> None:
        answer = await it.ask()
        assert (answer.reason_code, answer.reason) == (Reason.NO_POLICY_DEFINED, "The agent ci-fixer has no grant.")
        assert not it.boundary.admitted("ci-fixer")

    in_world(state, rules(), scene)


def test_rules_are_swapped_by_assignment(state: Path) -> None:
    async def scene(it: World) -> None:
        assert not (await it.ask("POST", PUSH)).allowed
        it.boundary.rules = rules("test/open-pr")
        assert (await it.ask("POST", PUSH)).allowed
        it.boundary.rules = rules("test/open-pr", expires=datetime.now(UTC) - timedelta(seconds=1))
        assert not (await it.ask("POST", PUSH)).allowed
        assert not it.boundary.admitted("ci-fixer")

    in_world(state, rules("test/read-repo"), scene)


def test_admitted_asks_for_the_credential_too(state: Path) -> None:
    async def scene(it: World) -> None:
        assert not it.boundary.admitted("ci-fixer")

    in_world(state, rules("test/read-repo"), scene, credentialed=lambda principal: False)


def test_a_completion_closes_its_allow_once(state: Path) -> None:
    async def scene(it: World) -> None:
        answer = await it.ask()
        outcome = Outcome(True, 200, 0, 1234, 56, response_sha256="ab" * 32)
        await it.boundary.complete(answer, outcome)
        await it.boundary.complete(answer, outcome)
        await it.boundary.complete(await it.ask("GET", "https://other.test/"), outcome)
        closing = [receipt for receipt in it.receipts() if receipt["kind"] == "completion"]
        assert len(closing) == 1
        assert closing[0]["args"] == {"completes": answer.receipt_id, "principal": "ci-fixer"}
        assert closing[0]["decision_id"] == answer.decision_id
        assert (closing[0]["status"], closing[0]["verdict"]) == ("SUCCESS", "")
        assert closing[0]["output"]["bytes_received"] == 1234
        assert it.seen.outcomes == [outcome]

    in_world(state, rules("test/read-repo"), scene)
    report = verify_file(state / "receipts.db", state / "trust.json")
    assert (report.exit_code, report.open_allows) == (0, 0)


def test_refuse_keeps_what_is_known_and_no_quotation(state: Path) -> None:
    async def scene(it: World) -> None:
        attempt = Attempt("GET", "https", "user:hunter2@api.test", 443, "/p?token=hunter2")
        reason = "The authority 'user:hunter2@api.test' has user information."
        answer = await it.boundary.refuse(CALLER, attempt, Reason.ENVELOPE_INVALID, reason)
        assert (answer.status, answer.reason) == (400, reason)
        receipt = it.last()
        assert "hunter2" not in json.dumps(receipt)
        assert receipt["args"]["refused"] == "The authority … has user information."
        large = await it.boundary.refuse(CALLER, Attempt(), Reason.TEMPORAL_THROTTLE, "Too large.", status=431)
        assert large.status == 431
        assert it.last()["args"]["inspected"] == "host"

    in_world(state, rules("test/read-repo"), scene)


def test_a_stranger_leaves_no_receipt(state: Path) -> None:
    async def scene(it: World) -> None:
        answer = await it.boundary.refuse(Caller(""), Attempt(), Reason.ENVELOPE_INVALID, "Ambiguous.")
        assert (answer.status, answer.receipt_id) == (400, None)
        assert not (it.state / "receipts.db").exists()
        assert len(it.seen.verdicts) == 1

    in_world(state, rules("test/read-repo"), scene)


def test_secrets_are_kept_as_hmacs_only(state: Path) -> None:
    secret = "s3cr3t-value-of-the-test"

    async def scene(it: World) -> None:
        headers = [("Authorization", f"Bearer {secret}"), ("Cookie", f"a={secret}"), ("X-Note", secret)]
        await it.ask("GET", f"{READ}?q={secret}&{secret}", headers=headers)
        await it.ask("POST", f"https://api.test/bot{secret}/send", body=secret.encode())
        await it.ask("GET", f"https://other.test/{secret}/short")
        await it.ask("GET", f"https://{secret}.other.test/")
        kept = it.receipts()
        text = json.dumps([{**receipt, "args": {**receipt["args"], "host": ""}} for receipt in kept])
        assert secret not in text
        bot, other = (r["args"]["path"] for r in kept if r["args"].get("path", "").endswith(("/send", "/short")))
        assert bot.startswith("/hmac:")
        assert other.startswith("/hmac:")

    in_world(state, rules("test/read-repo"), scene)


@pytest.mark.parametrize(
    ("paths", "url", "kept"),
    [
        ("full", READ, "/repos/acme/web"),
        ("template", READ, "/repos/{owner}/{repo}"),
        ("hash", READ, ""),
        ("template", "https://other.test/a", ""),
        ("full", "https://other.test/a/b", "/a/b"),
        ("full", "https://api.test/repos/acme/" + "w" * 3000, "/repos/acme/" + "w" * (2048 - 12)),
    ],
)
def test_paths_as_configured(state: Path, paths: Any, url: str, kept: str) -> None:
    async def scene(it: World) -> None:
        await it.ask("GET", url)
        args = it.last()["args"]
        assert args["path"] == kept
        assert ("path_hmac" in args) == (not url.endswith(kept) or not kept)
        assert paths == "full" or "acme" not in json.dumps(it.last())

    in_world(state, rules("test/read-repo"), scene, evidence=Evidence(b"k" * 32, paths))


def test_where_is_kept_only_with_full_paths(state: Path) -> None:
    async def scene(it: World) -> None:
        await it.ask("POST", PUSH)
        assert "acme" not in json.dumps(it.last())

    in_world(state, rules("test/read-repo"), scene, evidence=Evidence(b"k" * 32, "hash"))


def test_a_pinned_credential(state: Path) -> None:
    evidence = Evidence(b"k" * 32)
    (tag,) = evidence.credentials(facts_from_url("GET", READ, [("authorization", "Bearer right")]))
    entry = GrantEntry("test/read-repo", credential=frozenset({tag}))
    book = Rulebook(CATALOG, {"ci-fixer": Grant("ci-fixer", {"test/read-repo": (entry,)})})

    async def scene(it: World) -> None:
        assert (await it.ask(headers=[("Authorization", "Bearer right")])).allowed
        assert not (await it.ask(headers=[("Authorization", "Bearer wrong")])).allowed
        assert not (await it.ask()).allowed

    in_world(state, book, scene, evidence=evidence)


def test_sigv4_is_pinned_by_its_key_id() -> None:
    evidence = Evidence(b"k" * 32)

    def tags(signature: str) -> frozenset[str]:
        value = f"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261130/eu/s3/aws4_request, Signature={signature}"
        return evidence.credentials(facts_from_url("GET", READ, [("Authorization", value)]))

    assert len(tags("aa") & tags("bb")) == 1


# What a decision may do instead of deciding.
def raises(*args: Any, **keys: Any) -> Verdict:
    raise RuntimeError("a secret of the operator")


def exits(*args: Any, **keys: Any) -> Verdict:
    raise SystemExit(1)


def recurses(*args: Any, **keys: Any) -> Verdict:
    return recurses(*args, **keys)


def garbles(*args: Any, **keys: Any) -> Any:
    return "ALLOW"


def postpones(*args: Any, **keys: Any) -> Any:
    return asyncio.get_running_loop().create_future()


def contradicts(*args: Any, **keys: Any) -> Verdict:
    return Verdict(Decision.ALLOW, Reason.NONE, "yes", effect=None)


def hangs(*args: Any, **keys: Any) -> Verdict:
    while True:
        pass


def sleeps(*args: Any, **keys: Any) -> Any:
    time.sleep(30)


@pytest.mark.parametrize("decide", [raises, exits, recurses, garbles, postpones, contradicts, hangs, sleeps])
def test_a_broken_decision_is_a_refusal_with_a_receipt(state: Path, decide: Any) -> None:
    async def scene(it: World) -> None:
        answer = await it.ask()
        assert (answer.verdict, answer.reason_code, answer.status) == (Decision.DENY, Reason.PDP_ERROR, 503)
        assert "secret" not in json.dumps(answer.body)
        assert it.last()["reason_code"] == "PDP_ERROR"
        assert len(it.faults) == 1

    begun = time.monotonic()
    in_world(state, rules("test/read-repo"), scene, decide=decide, hang=0.2)
    assert time.monotonic() - begun < 20  # `sleeps` would take 30 by itself


@pytest.mark.parametrize("inspect", [raises, hangs])
def test_a_catalogue_that_fails_holds_no_body(state: Path, monkeypatch: pytest.MonkeyPatch, inspect: Any) -> None:
    monkeypatch.setattr(Catalog, "inspect_bytes", inspect)

    async def scene(it: World) -> None:
        assert it.boundary.inspect_bytes(CALLER, facts_from_url("POST", PUSH, body=b"x")) == 0
        assert len(it.faults) == 1

    in_world(state, rules("test/read-repo"), scene, hang=0.2)


def test_timestamps_never_fall(state: Path) -> None:
    times = iter([datetime(2026, 11, 30, 12, tzinfo=UTC), *[datetime(2026, 11, 30, 11, tzinfo=UTC)] * 9])

    async def scene(it: World) -> None:
        await it.ask()
        await it.ask()
        first, second = (r["timestamp"] for r in it.receipts() if r["kind"] == "decision")
        assert first <= second

    in_world(state, rules("test/read-repo"), scene, now=lambda: next(times))


def test_an_allow_for_nobody_is_a_fault(state: Path) -> None:
    def generous(*args: Any, **keys: Any) -> Verdict:
        return Verdict(Decision.ALLOW, Reason.NONE, "yes", effect="test/read-repo")

    async def scene(it: World) -> None:
        assert (await it.ask()).reason_code is Reason.PDP_ERROR

    in_world(state, rules(), scene, decide=generous)


def test_a_broken_observer_changes_no_answer(state: Path) -> None:
    async def scene(it: World) -> None:
        it.boundary._observer = None  # type: ignore[assignment]
        assert (await it.ask()).allowed
        assert it.faults

    in_world(state, rules("test/read-repo"), scene)


class StubStore:
    """A store that does as it is told: each append takes the next of `futures`."""

    def __init__(self, *futures: Future[Sealed] | Exception) -> None:
        self.futures: Iterator[Future[Sealed] | Exception] = iter(futures)
        self.drafts: list[Draft] = []
        self.fault = ""

    def append(self, draft: Draft, spends: tuple[Spend, ...] = ()) -> Future[Sealed]:
        self.drafts.append(draft)
        given = next(self.futures)
        if isinstance(given, Exception):
            raise given
        return given

    def close(self) -> None:
        """Nothing to close."""


def done(result: Sealed | Exception) -> Future[Sealed]:
    future: Future[Sealed] = Future()
    future.set_exception(result) if isinstance(result, Exception) else future.set_result(result)
    return future


SEALED = Sealed("ab" * 32, 2, b"{}", "cd" * 32)


@pytest.mark.parametrize("broken", [done(StoreError("disk full")), ValueError("broken"), done(OSError(5))])
def test_no_receipt_no_allow(state: Path, broken: Any) -> None:
    async def scene(it: World) -> None:
        for url in (READ, "https://other.test/"):
            answer = await it.ask("GET", url)
            assert (answer.reason_code, answer.status, answer.receipt_id) == (Reason.PDP_ERROR, 503, None)
        assert [verdict.reason_code for _, verdict in it.seen.verdicts] == [Reason.PDP_ERROR] * 2

    in_world(state, rules("test/read-repo"), scene, store=StubStore(broken, broken))


def test_a_slow_store_is_a_refusal_at_the_deadline_and_its_late_allow_is_closed(state: Path) -> None:
    slow: Future[Sealed] = Future()
    slow.set_running_or_notify_cancel()  # the commit is under way, it can no longer be withdrawn
    store = StubStore(slow, done(SEALED))

    async def scene(it: World) -> None:
        began = time.monotonic()
        assert (await it.ask()).reason_code is Reason.PDP_ERROR
        assert time.monotonic() - began < 2
        slow.set_result(SEALED)
        allowed, closing = store.drafts
        assert (closing.kind, closing.status, closing.decision_id) == ("completion", "FAILED", allowed.decision_id)
        assert json.loads(closing.output)["error"] == "unsent"

    in_world(state, rules("test/read-repo"), scene, store=store, deadline=0.1)


def test_a_receipt_still_queued_at_the_deadline_is_withdrawn(state: Path) -> None:
    queued: Future[Sealed] = Future()

    async def scene(it: World) -> None:
        assert (await it.ask()).reason_code is Reason.PDP_ERROR
        assert queued.cancelled()

    in_world(state, rules("test/read-repo"), scene, store=StubStore(queued), deadline=0.05)


def test_a_client_that_leaves_while_waiting(state: Path) -> None:
    slow: Future[Sealed] = Future()
    slow.set_running_or_notify_cancel()
    store = StubStore(slow, done(SEALED))

    async def scene(it: World) -> None:
        waiting = asyncio.ensure_future(it.ask())
        await asyncio.sleep(0.02)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        slow.set_result(SEALED)
        assert [draft.kind for draft in store.drafts] == ["decision", "completion"]

    in_world(state, rules("test/read-repo"), scene, store=store)


def test_a_completion_that_the_store_refused_follows_later(state: Path) -> None:
    store = StubStore(done(SEALED), done(StoreError("full")), done(replace(SEALED, lamport=3)), done(SEALED))

    async def scene(it: World) -> None:
        await it.boundary.complete(await it.ask(), Outcome(True, 200))
        await it.ask()
        kinds = [draft.kind for draft in store.drafts]
        assert kinds == ["decision", "completion", "decision", "completion"]
        assert store.drafts[1] == store.drafts[3]

    in_world(state, rules("test/read-repo"), scene, store=store)


def test_refusals_beyond_the_rate_are_folded(state: Path) -> None:
    async def scene(it: World) -> None:
        answers = [await it.ask("GET", "https://other.test/") for _ in range(9)]
        assert [answer.status for answer in answers] == [403] * 5 + [429] * 4
        assert answers[-1].reason_code is Reason.TEMPORAL_THROTTLE
        assert (await it.ask()).allowed
        await it.boundary.close()
        fold = it.last()
        assert (fold["kind"], fold["output"]["count"]) == ("fold", 4)
        assert fold["output"]["reasons"] == {"DATA_EGRESS_BLOCKED": 4}
        groups = group_denials(it.receipts())
        assert [(g.reason_code, g.count, dict(g.requests)) for g in groups] == [
            ("DATA_EGRESS_BLOCKED", 5, {"GET other.test/": 5}),
            ("TEMPORAL_THROTTLE", 4, {}),
        ]

    in_world(state, rules("test/read-repo"), scene, meter=RefusalMeter(rate=0.001, burst=5))
    assert intact(state)


def limited(**limits: Any) -> Rulebook:
    return rules(
        "test/read-repo",
        "test/open-pr",
        limits=Limits(**{"requests": None, "upload_bytes": None, "per": "day", **limits}),
    )


def test_requests_are_limited_and_survive_a_restart(state: Path) -> None:
    async def scene(it: World) -> None:
        assert [(await it.ask()).allowed for _ in range(2)] == [True, True]
        assert it.seen.left == {"requests": 1}

    async def second(it: World) -> None:
        assert (await it.ask()).allowed
        answer = await it.ask()
        assert (answer.reason_code, answer.status) == (Reason.BUDGET_EXCEEDED, 403)
        assert "The limit of 3 requests per day is used up: 0 are left, it resets at" in answer.reason
        assert it.last()["reason_code"] == "BUDGET_EXCEEDED"

    in_world(state, limited(requests=3), scene)
    in_world(state, limited(requests=3), second)
    assert intact(state)


def test_refused_requests_cost_nothing(state: Path) -> None:
    async def scene(it: World) -> None:
        for _ in range(3):
            await it.ask("GET", "https://other.test/")
        assert (await it.ask()).allowed

    in_world(state, limited(requests=1), scene)


def test_uploads_are_reserved_then_settled(state: Path) -> None:
    async def scene(it: World) -> None:
        first = await it.ask("POST", PUSH, body=b"x" * 60)
        assert (first.allowed, first.upload_left) == (True, 60)
        over = await it.ask("POST", PUSH, body=b"x" * 60)
        assert over.reason_code is Reason.BUDGET_EXCEEDED
        assert "this request needs 60, 40 are left" in over.reason
        await it.boundary.complete(first, Outcome(False, bytes_sent=10))
        assert (await it.ask("POST", PUSH, body=b"x" * 60)).allowed

    in_world(state, limited(upload_bytes=100), scene)


def streamed(facts: RequestFacts) -> RequestFacts:
    return facts.with_body(None)


def test_an_upload_of_unknown_size_may_take_what_is_left(state: Path) -> None:
    async def scene(it: World) -> None:
        facts = streamed(facts_from_url("POST", PUSH))
        first = await it.boundary.submit(CALLER, facts)
        assert first.upload_left == 100
        assert (await it.boundary.submit(CALLER, facts)).reason_code is Reason.BUDGET_EXCEEDED
        assert (await it.ask()).allowed  # what is only reserved shuts no read out
        await it.boundary.complete(first, Outcome(True, 200, bytes_sent=100))
        assert (await it.ask()).reason_code is Reason.BUDGET_EXCEEDED  # used up: latched for the window

    in_world(state, limited(upload_bytes=100), scene)


def test_a_reservation_is_given_back_where_the_receipt_fails(state: Path) -> None:
    store = StubStore(done(StoreError("full")), done(SEALED))

    async def scene(it: World) -> None:
        assert not (await it.ask()).allowed
        assert (await it.ask()).allowed

    in_world(state, limited(requests=1), scene, store=store)


def test_two_hundred_at_once_while_the_store_dies(state: Path) -> None:
    """No ALLOW without a receipt: the directory loses its store half way through."""

    async def scene(it: World) -> None:
        async def one(number: int) -> Answer:
            if number == 100:
                (it.state / "receipts.db").rename(it.state / "gone.db")
            return await it.ask("GET", f"https://api.test/repos/acme/{number}")

        assert (await it.ask()).allowed
        answers = await asyncio.gather(*(one(number) for number in range(200)))
        allowed = {answer.receipt_id for answer in answers if answer.allowed}
        refused = [answer for answer in answers if not answer.allowed]
        assert {answer.reason_code for answer in refused} == {Reason.PDP_ERROR}
        assert not (await it.ask()).allowed
        (it.state / "gone.db").rename(it.state / "receipts.db")
        assert (await it.ask()).allowed  # the cause has gone, and no restart was needed
        on_disk = {receipt["receipt_id"] for receipt in it.receipts() if receipt["verdict"] == "ALLOW"}
        assert allowed <= on_disk
        assert refused

    in_world(state, rules("test/read-repo"), scene)
    assert intact(state)
