"""For people who have their own mitmproxy: `mitmdump -s addons/egress.py`. No logic: `app` wires, the gate decides.

The gate goes on the master in `load`, so that an edit of this file which does not parse unloads nothing but this file.
"""

from __future__ import annotations

from mitmproxy import ctx
from mitmproxy.addonmanager import Loader

from effectgate import app


class Egress:
    """Puts the gate on the master that loads this file."""

    def load(self, loader: Loader) -> None:
        """Gate the master. Raises what is wrong with the installation; mitmdump then does not start."""
        app.attach(ctx.master)


addons = [Egress()]
