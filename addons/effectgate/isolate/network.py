"""The network of a cell: a loopback interface, and one listening socket on it that is accepted from outside.

A socket keeps the network namespace that it was made in, whoever holds it: the proxy's side accepts what CMD connects.
"""

from __future__ import annotations

import fcntl
import socket
import struct

LOOPBACK = "127.0.0.1"
# linux/sockios.h, linux/if.h
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1
_REQUEST = "16sH22x"  # struct ifreq with its flags


def bring_up_loopback() -> None:
    """Bring up `lo` in the current network namespace, which has to be ours. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        answer = fcntl.ioctl(any_socket, SIOCGIFFLAGS, struct.pack(_REQUEST, b"lo", 0))
        flags = struct.unpack(_REQUEST, answer)[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack(_REQUEST, b"lo", flags | IFF_UP))


def open_listener(port: int) -> socket.socket:
    """The door of the cell: the same port that the proxy has outside. Raises OSError."""
    bring_up_loopback()
    return socket.create_server((LOOPBACK, port), backlog=socket.SOMAXCONN)
