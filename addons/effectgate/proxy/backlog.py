"""How much an HTTP/2 peer keeps us holding.

mitmproxy 12.3.1 announces a window of 2 GiB to both sides and queues without limit what the other side's window does not
yet admit. So whoever reads has to look at what the other side has not taken.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from mitmproxy.connection import Connection
from mitmproxy.proxy.layers.http._http_h2 import BufferedH2Connection

# Well above the usual windows, so that only a peer that does not keep up is felt.
BACKLOG_BYTES = 4 * 1024 * 1024

_queues: WeakKeyDictionary[Connection, BufferedH2Connection] = WeakKeyDictionary()


def watch(connection: Connection, queue: BufferedH2Connection) -> None:
    """Remember where what waits for this connection is queued."""
    _queues[connection] = queue


def waiting(connection: Connection) -> int:
    """Bytes that wait for this connection's peer to open its window; 0 for HTTP/1, whose socket does its own waiting."""
    queue = _queues.get(connection)
    if queue is None:
        return 0
    return sum(len(chunk.data) for chunks in queue.stream_buffers.values() for chunk in chunks)
