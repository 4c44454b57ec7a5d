"""What the origins answer: a JSON echo, and a switch between hosts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from origin.journal import Reply, Seen


def echo(seen: Seen) -> Reply:
    """Tell the caller what arrived: method, host, target, protocol and size of the body."""
    told = {
        "method": seen.method,
        "host": seen.host,
        "target": seen.target.decode("latin-1"),
        "protocol": seen.protocol,
        "bytes": len(seen.body),
    }
    return Reply(body=json.dumps(told).encode())


def by_host(plays: Mapping[str, Callable[[Seen], Reply]]) -> Callable[[Seen], Reply]:
    """One origin that plays several hosts; any other host is echoed."""
    return lambda seen: plays.get(seen.host, echo)(seen)
