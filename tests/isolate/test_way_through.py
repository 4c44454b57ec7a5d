"""What a command inside a cell is meant to be able to do: ask through the proxy, and read why not."""

from __future__ import annotations

import json
import sys

import pytest

from isolate.cells import USERS, House

pytestmark = pytest.mark.timeout(180)

ITEM = "https://api.ledger.test/items/7"
SCRIPT = f"""
curl -sS {ITEM}; echo
curl -sS {ITEM.replace("https", "http")}; echo
curl -sS -X DELETE {ITEM} | tr -d '\\n'; echo
curl -sS http://effectgate.internal/v1/grant | tr -d '\\n'; echo
{sys.executable} -c 'import requests; print(requests.get("{ITEM}").text)'
git ls-remote https://github.com/acme/web.git | head -n 1
git -C repository status --short; echo "git $?"
curl -sS --noproxy '*' {ITEM} 2>&1
id -u
"""


@pytest.mark.needs("curl", "git")
@pytest.mark.parametrize("user", USERS)
def test_clients_ask_through_the_proxy(house: House, user: str) -> None:
    ran = house.run(user, ["sh", "-c", f"[ -d repository ] || git init -q repository; {SCRIPT}"], "--isolate")
    secure, plain, refused, grant, requested, head, status, direct, uid = ran.stdout.splitlines()
    for answer in (secure, plain, requested):
        assert json.loads(answer)["target"] == "/items/7"
    assert json.loads(refused)["would_admit"][0]["effect"].startswith("ledger/")
    assert "ledger/read-items" in json.dumps(json.loads(grant))
    assert head.endswith("HEAD")
    assert status == "git 0"
    assert "Could not resolve host" in direct
    assert uid == {"root": "0"}.get(user, "65534" if "65534" in str(USERS[user]) else uid)


@pytest.mark.needs("curl")
def test_much_is_carried_both_ways_at_once(house: House) -> None:
    """Forty connections, each with its answer."""
    script = f"seq 40 | xargs -P 10 -I N curl -sS -o /dev/null -w '%{{http_code}}\\n' {ITEM.replace('7', 'N')} | sort | uniq -c"
    assert house.run("unprivileged", ["sh", "-c", script], "--isolate").stdout.split() == ["40", "200"]


def test_a_server_of_its_own_is_reached_without_the_proxy(house: House) -> None:
    script = """
import http.server, threading, urllib.request
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/").status)
"""
    assert house.run("unprivileged", [sys.executable, "-c", script], "--isolate").stdout == "200\n"
