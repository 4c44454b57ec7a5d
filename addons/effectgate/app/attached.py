"""The gate on a mitmproxy that somebody else runs (`mitmdump -s addons/egress.py`): without API and metrics, reloading as serve does."""

from __future__ import annotations

import asyncio
from typing import Any

from effectgate.app.installation import Installation
from effectgate.app.proxy_settings import proxy_settings
from effectgate.proxy.attach import attach

# The loop keeps only a weak reference to its tasks.
_following: set[asyncio.Task[None]] = set()


def attach_installation(master: Any) -> None:
    """Gate `master`, and follow the files from then on."""
    installation = Installation(None)
    attach(
        master,
        proxy_settings(installation.loaded.settings),
        installation.boundary,
        installation.authenticate,
        installation.local,
        ports=installation.ports,
    )
    # The gate looks for credentials and grants that are gone by itself, twice a second.
    following = installation.follow(lambda: None)
    _following.add(asyncio.get_running_loop().create_task(following))
