"""`effectgate serve` whose patience with origins is short; nothing else is different."""

from __future__ import annotations

import dataclasses

from effectgate.app import service
from effectgate.cli import main
from effectgate.config import Settings
from effectgate.proxy.settings import ProxySettings

SECONDS = 1.0

_patient = service.proxy_settings


def _hasty(settings: Settings) -> ProxySettings:
    return dataclasses.replace(
        _patient(settings),
        connect_seconds=SECONDS,
        handshake_seconds=SECONDS,
        resolve_seconds=SECONDS,
        silent_seconds=SECONDS,
    )


if __name__ == "__main__":
    service.proxy_settings = _hasty
    main()
