"""`effectgate serve` and `effectgate setup`."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Annotated

import typer

from effectgate.cli.output import CommandError, ConfigOption, JsonOption, print_json

if TYPE_CHECKING:
    from effectgate.app.first_run import FirstRun
    from effectgate.config import Settings

PASTED_BUNDLES = (
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
)


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("serve")(serve)
    app.command("setup")(setup)


def serve(
    config: ConfigOption = None,
    demo: Annotated[bool, typer.Option("--demo", help="Make a demo agent where there is no grants file.")] = False,
) -> None:
    """Run the proxy, the API and the metrics until SIGTERM; SIGHUP or a changed file reloads."""
    from effectgate.app.first_run import prepare
    from effectgate.app.logs import configure_logs
    from effectgate.app.service import serve as run
    from effectgate.config import load_settings

    configure_logs()
    first = prepare(load_settings(config)) if demo else None

    def ready(settings: Settings) -> None:
        _announce(settings, first)

    try:
        run(config, ready)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES):
            raise
        fix = "stop what listens there, or choose another address in effectgate.yaml"
        raise CommandError(f"cannot listen: {error.strerror}", fix) from error


def setup(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Make what a first start needs: keys, the CA, and a demo agent where there is no grants file."""
    from effectgate.app.first_run import make_keys, prepare
    from effectgate.config import load_settings

    settings = load_settings(config)
    first = prepare(settings)
    make_keys(settings)
    if as_json:
        print_json({"ca": settings.certs / "ca.pem", "demo_url": first.url_file, "made": first.made})
    else:
        _announce(settings, first)


def _announce(settings: Settings, first: FirstRun | None) -> None:
    """The proxy URL (its token only at the first start), the CA, and three lines to paste."""
    ca, listen = settings.certs / "ca.pem", settings.listen
    print(f"proxy    http://{listen}", flush=True)
    print(f"CA       {ca}")
    url_file = first.url_file if first is not None else None
    url = f"$(cat {url_file})" if url_file is not None else f"http://NAME:TOKEN@{listen}"
    if first is not None and first.made and url_file is not None:
        print(f"agent    {url_file.read_text().strip()}")
    elif url_file is not None:
        print(f"agent    its URL lies in {url_file}")
    # curl reads http_proxy in lower case alone, and git built with GnuTLS no bundle variable but its own.
    print("paste    export " + " ".join(f'{name}="{url}"' for name in ("HTTPS_PROXY", "HTTP_PROXY", "http_proxy")))
    print("         export " + " ".join(f"{name}={ca}" for name in PASTED_BUNDLES))
    print("         curl -sS https://pypi.org/simple/pip/ | head -n 5", flush=True)
