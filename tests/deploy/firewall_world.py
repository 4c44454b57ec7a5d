"""Two network namespaces with deploy/nftables.nft between them: a host whose agents are user 0, and a container behind `br-agents`.

Run by test_deploy.py in namespaces of its own. Prints, before and after the rules are loaded, what each probe reached.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time

HOST, CONTAINER, FAR = "198.18.0.1", "198.18.0.2", "203.0.113.9"
PROXY, OTHER, UDP = 8080, 8081, 5353
SECONDS = 1.0

Probes = dict[str, tuple[str, int]]
FROM_HOST: Probes = {
    "proxy": ("127.0.0.1", PROXY),
    "api": ("127.0.0.1", OTHER),
    "alias": (HOST, PROXY),
    "far": (FAR, OTHER),
}
FROM_CONTAINER: Probes = {"proxy": (HOST, PROXY), "api": (HOST, OTHER), "far": (FAR, OTHER)}


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


def reached(host: str, port: int) -> bool:
    with contextlib.suppress(OSError):
        socket.create_connection((host, port), SECONDS).close()
        return True
    return False


def datagram(host: str) -> bool:
    """Whether an answer came: the echo is another process's."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(SECONDS)
        sock.sendto(b"x", (host, UDP))
        return sock.recv(1) == b"x"
    return False


def look(probes: Probes) -> dict[str, bool]:
    found = {name: reached(*address) for name, address in probes.items()}
    return found | {"udp": datagram(probes["proxy"][0])}


def echo() -> None:
    """Listeners on every port, and on the far address as well; nobody needs to accept."""
    listeners = [socket.create_server(("0.0.0.0", port)) for port in (PROXY, OTHER)]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("0.0.0.0", UDP))
        while listeners:
            data, sender = sock.recvfrom(16)
            with contextlib.suppress(OSError):
                sock.sendto(data, sender)


def container(orders: int, answers: int) -> None:
    """Another network namespace; looks around whenever it is told to."""
    os.unshare(os.CLONE_NEWNET)
    os.write(answers, b"\n")
    while os.read(orders, 1) == b"1":
        if subprocess.run(["ip", "addr", "show", "eth0"], capture_output=True, check=False).returncode == 0:
            for arguments in (
                "link set lo up",
                f"addr replace {CONTAINER}/24 dev eth0",
                "link set eth0 up",
                f"route replace default via {HOST}",
            ):
                ip(*arguments.split())
        os.write(answers, json.dumps(look(FROM_CONTAINER)).encode() + b"\n")


def main(rules: str) -> None:
    ip("link", "set", "lo", "up")
    ip("addr", "add", f"{FAR}/32", "dev", "lo")
    order_out, order_in = os.pipe()
    answer_out, answer_in = os.pipe()
    children = [os.fork()]
    if children[0] == 0:
        container(order_out, answer_in)
        os._exit(0)
    with open(answer_out) as answers:
        answers.readline()
        ip("link", "add", "br-agents", "type", "veth", "peer", "name", "eth0", "netns", str(children[0]))
        ip("addr", "add", f"{HOST}/24", "dev", "br-agents")
        ip("link", "set", "br-agents", "up")
        children.append(os.fork())
        if children[1] == 0:
            echo()
        time.sleep(0.3)
        for turn in ("open", "closed"):
            if turn == "closed":
                subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True)
            os.write(order_in, b"1")
            print(json.dumps({"container": json.loads(answers.readline()), "host": look(FROM_HOST)}), flush=True)
    for child in children:
        os.kill(child, 9)


if __name__ == "__main__":
    main(sys.stdin.read())
