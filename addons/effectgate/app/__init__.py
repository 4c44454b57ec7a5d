"""The wiring: files to policy, policy to boundary, boundary to proxy and API. Only `cli` and `egress.py` import it."""

from __future__ import annotations

from typing import Any

__all__ = ["attach"]


def attach(master: Any) -> None:
    """Gate a mitmproxy master that is not ours, with the settings that `effectgate serve` would find.

    To be called in the master's loop. Raises FaultsError, StoreError, TrustError, CertificateError, AttachError: mitmdump
    then does not start.
    """
    # Imported here: the command line imports parts of this package that must not pay for mitmproxy.
    from effectgate.app.attached import attach_installation

    attach_installation(master)
