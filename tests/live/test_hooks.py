"""Every hook fails in turn: a reason where an answer can still be given, else the connection closes, and nothing leaves undecided."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from websockets.exceptions import WebSocketException

from live.ask import Request, plain, plain_in_tunnel, tls_1, tls_2
from live.gate import Agent, Gate, serving, wait
from live.ledger import Pair, ledger_gate, locked
from live.wire import Door, Response, websocket_through
from origin.certificates import Authority
from origin.server import Origins

AGENT = Agent("fault-finder", ["ledger/read-items", "ledger/search"])
DAY = 86400
HOST = "api.ledger.test"
DATED = Agent(
    "dated", ["ledger/read-items"], more={"expires": (datetime.now(UTC) + timedelta(days=1)).replace(microsecond=0)}
)
GET = Request("GET", "https://api.ledger.test/items/7")
FORM = Request(
    "POST", "https://api.ledger.test/rpc", [("Content-Type", "application/x-www-form-urlencoded")], b"op=find"
)
# Hooks in the order in which a request meets them: those before the first byte to an origin, and those after.
BEFORE = (
    "client_connected",
    "http_connect",
    "http_connected",
    "next_layer",
    "tls_clienthello",
    "tls_start_client",
    "tls_established_client",
    "requestheaders",
    "request",
    "effectgate_decide",
    "server_connect",
)
IN_TUNNELS = frozenset(
    {"http_connect", "http_connected", "tls_clienthello", "tls_start_client", "tls_established_client"}
)
MET = [(hook, tunnel) for hook in BEFORE for tunnel in (True, False) if tunnel or hook not in IN_TUNNELS]
AFTER = ("server_connected", "tls_start_server", "tls_established_server", "responseheaders", "response")


class FaultyGate(Gate):
    """A gate whose hooks can be made to fail."""

    program = (str(Path(__file__).with_name("faulty_serve.py")),)

    @property
    def switch(self) -> Path:
        """The file that says which hook fails, and how."""
        return self.directory / "fault"


@pytest.fixture(scope="module")
def pair(origins: Origins) -> Pair:
    return Pair.open(origins)


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory, pair: Pair, authority: Authority) -> Iterator[FaultyGate]:
    gate = ledger_gate(FaultyGate, tmp_path_factory.mktemp("faulty"), [AGENT, DATED], pair, authority)
    with serving(gate, EFFECTGATE_TEST_FAULT=str(gate.switch)):
        yield gate


@pytest.fixture(autouse=True)
def _mended(gate: FaultyGate) -> Iterator[None]:
    """Whatever failed, every ALLOW is closed, and the next good request works."""
    yield
    gate.switch.unlink(missing_ok=True)
    for ask in (plain, tls_1):
        assert ask(gate.door(AGENT), GET).status == 200
    assert wait(lambda: _open_and_all(gate)[0] == 0), "an ALLOW was never closed"


def _told(door: Door, request: Request, *, tunnel: bool, http2: bool = False) -> Response | None:
    """The response; None where the connection was closed without one."""
    ask = tls_2 if http2 else tls_1 if tunnel else plain
    try:
        response = ask(door, request)
    except OSError:
        return None
    return response if response.status else None


def _fails_closed(response: Response | None, hook: str) -> None:
    if response is None:
        return
    # At server_connect the ALLOW is durable already; still it is our failure, and not the origin's.
    assert (response.status, response.json["reason_code"]) == (503, "PDP_ERROR"), hook
    assert response.json["reason"]


@pytest.mark.parametrize("kind", ["raise", "cancel", "memory"])
@pytest.mark.parametrize(
    ("hook", "tunnel"), MET, ids=[f"{hook}-{'tunnel' if tunnel else 'plain'}" for hook, tunnel in MET]
)
def test_a_hook_that_fails_before_the_decision_sends_nothing(
    gate: FaultyGate, pair: Pair, hook: str, tunnel: bool, kind: str
) -> None:
    reached, dialled = len(pair.requests()), pair.accepts
    gate.switch.write_text(f"{hook} {kind}")
    response = _told(gate.door(AGENT), FORM if hook == "effectgate_decide" else GET, tunnel=tunnel)
    _fails_closed(response, hook)
    assert (len(pair.requests()), pair.accepts) == (reached, dialled)


@pytest.mark.parametrize("hook", ["requestheaders", "effectgate_decide"])
@pytest.mark.parametrize("http2", [False, True], ids=["http/1.1", "http/2"])
def test_a_policy_that_hangs_is_refused_in_time(gate: FaultyGate, pair: Pair, hook: str, http2: bool) -> None:
    reached = len(pair.requests())
    gate.switch.write_text(f"{hook} hang")
    response = _told(gate.door(AGENT), FORM if hook == "effectgate_decide" else GET, tunnel=True, http2=http2)
    assert response is not None
    assert (response.status, response.json["reason_code"]) == (503, "PDP_ERROR")
    assert len(pair.requests()) == reached


@pytest.mark.parametrize("hook", ["requestheaders", "request"])
def test_the_reason_can_be_read(gate: FaultyGate, hook: str) -> None:
    gate.switch.write_text(f"{hook} raise")
    for ask in (plain, plain_in_tunnel, tls_1, tls_2):
        response = ask(gate.door(AGENT), GET)
        assert response.status == 503
        assert response.json["reason_code"] == "PDP_ERROR"


@pytest.mark.parametrize("hook", AFTER)
def test_a_hook_that_fails_after_the_decision_leaves_a_receipt_of_it(gate: FaultyGate, hook: str) -> None:
    before = _open_and_all(gate)[1]
    gate.switch.write_text(f"{hook} raise")
    response = _told(gate.door(AGENT), GET, tunnel=True)
    # When `response` runs, the whole of it has been streamed to the client.
    assert response is None or response.status >= 500 or hook == "response"
    assert _open_and_all(gate)[1] == before + 1


AFTERWARDS = ("effectgate_closed", "error", "server_disconnected", "client_disconnected", "server_connect_error")
SOCKET = ("websocket_start", "websocket_message", "websocket_end", "server_disconnected", "client_disconnected")


@pytest.mark.parametrize("kind", ["raise", "cancel", "memory", "hang"])
@pytest.mark.parametrize("hook", [*AFTER, *AFTERWARDS])
def test_a_hook_that_fails_after_the_decision_holds_nobody_up(gate: FaultyGate, hook: str, kind: str) -> None:
    """Whatever becomes of the answer, it comes in time, and the ALLOW is closed (see `_mended`)."""
    gate.switch.write_text(f"{hook} {kind}")
    gone = Request("GET", "https://files.ledger.test/tool") if hook == "server_connect_error" else GET
    _told(gate.door(AGENT), gone, tunnel=True)


@pytest.mark.parametrize("kind", ["raise", "cancel", "hang"])
@pytest.mark.parametrize("hook", SOCKET)
def test_a_hook_that_fails_in_a_websocket_ends_it(gate: FaultyGate, hook: str, kind: str) -> None:
    gate.switch.write_text(f"{hook} {kind}")
    door = gate.door(AGENT)
    with contextlib.suppress(WebSocketException, OSError), websocket_through(door, HOST, "/items/7") as messages:
        messages.send("hello")
        messages.recv(timeout=5)


def test_a_clock_that_is_set(gate: FaultyGate) -> None:
    """A grant that has run out is explained; with the clock right again it serves, without a restart; set back it is no longer for that."""
    clock, door = gate.directory / "clock", gate.door(DATED)
    assert tls_1(door, GET).status == 200
    clock.write_text(str(2 * DAY))
    refused = tls_1(door, GET)
    assert (refused.status, refused.json["reason_code"]) == (403, "NO_POLICY_DEFINED")
    assert "expired" in refused.json["reason"]
    for seconds in (0, -2 * DAY):
        clock.write_text(str(seconds))
        assert tls_1(door, GET).status == 200
    clock.unlink()


def _open_and_all(gate: Gate) -> tuple[int, int]:
    """How many receipts of an ALLOW have no completion, and how many there are."""
    receipts = gate.receipts()
    allowed = sum((receipt["kind"], receipt["verdict"]) == ("decision", "ALLOW") for receipt in receipts)
    return allowed - sum(receipt["kind"] == "completion" for receipt in receipts), allowed


@contextlib.contextmanager
def _moved_away(store: Path) -> Iterator[None]:
    """A file stands where the state directory was: permissions would not stop root."""
    away = store.parent.with_name("away")
    store.parent.rename(away)
    store.parent.write_text("not a directory")
    try:
        yield
    finally:
        store.parent.unlink()
        away.rename(store.parent)


@pytest.mark.parametrize("broken", [locked, _moved_away])
def test_a_store_that_cannot_be_written_refuses_with_a_reason(
    gate: FaultyGate, pair: Pair, broken: Callable[[Path], AbstractContextManager[None]]
) -> None:
    (store,) = gate.stores()
    reached, dialled = len(pair.requests()), pair.accepts
    with broken(store):
        for ask in (plain, tls_1, tls_2):
            response = ask(gate.door(AGENT), GET)
            assert (response.status, response.json["reason_code"]) == (503, "PDP_ERROR")
            assert response.json["reason"]
    assert (len(pair.requests()), pair.accepts) == (reached, dialled)
