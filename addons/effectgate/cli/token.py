"""`effectgate token new|revoke`: credentials made and ended by command; they live in the state store, never in grants.yaml."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from effectgate.cli.denials import CANARY
from effectgate.cli.output import NO, CommandError, ConfigOption, JsonOption, complain, print_json

if TYPE_CHECKING:
    from effectgate.config import Settings

HASH = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The agent, as grants.yaml names it.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    token = typer.Typer(help="Credentials of agents.", no_args_is_help=True)
    token.command("new")(new)
    token.command("revoke")(revoke)
    app.add_typer(token, name="token")


def new(
    name: NameArgument,
    lasts: Annotated[str, typer.Option("--for", metavar="30m|12h|7d", help="How long it is valid.")] = "",
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Make a token, print it once, and keep its hash. It is valid at once, also in a proxy that runs."""
    from effectgate.app.first_run import proxy_url
    from effectgate.config import load_settings
    from effectgate.identity import new_token
    from effectgate.receipts.store_tokens import Minted, mint

    settings, now = load_settings(config), datetime.now(UTC)
    _check_name(name)
    token, digest = new_token()
    expires = now + timedelta(seconds=_seconds(lasts)) if lasts else None
    mint(settings.state, Minted(digest, name, expires=expires), now)
    url = proxy_url(settings.listen, name, token)
    if not _granted(settings, name):
        complain(
            f"{settings.grants} has no agent {name}, so every request under this token is refused; give it a grant there"
        )
    if as_json:
        print_json(
            {"name": name, "token": token, "sha256": digest, "url": url, "expires": expires and expires.isoformat()}
        )
        return
    print(f"token   {token}")
    print(f"url     {url}")
    print(f"sha256  {digest}" + (f"\nuntil   {expires.isoformat(timespec='seconds')}" if expires else ""))


def _granted(settings: Settings, name: str) -> bool:
    """Whether grants.yaml names this agent; one that cannot be read is for `grant check` to tell."""
    from effectgate.policy.fault import FaultsError
    from effectgate.strict_yaml import read_yaml
    from effectgate.text_file import read_text

    try:
        written = read_yaml(read_text(settings.grants), str(settings.grants)).value
    except FileNotFoundError:
        return False
    except (OSError, UnicodeDecodeError, FaultsError):
        return True
    agents = written.get("agents") if isinstance(written, dict) else None
    listed = agents if isinstance(agents, list) else []
    return any(isinstance(agent, dict) and agent.get("name") == name for agent in listed)


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        raise CommandError(
            f"{name!r} is not the name of an agent", "write letters, digits, `.`, `_` and `-`, at most 64"
        )
    if name == CANARY:
        raise CommandError(f"{name} is the name of the proxy's own requests", "choose another name")


def _seconds(text: str) -> int:
    found = re.fullmatch(r"([1-9][0-9]{0,5})([smhd])", text)
    if found is None:
        raise CommandError(f"--for {text!r} is not a duration", "write a number and s, m, h or d, such as 30m")
    return int(found[1]) * UNITS[found[2]]


def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME|sha256:HASH", help="Every token of an agent, or one hash.")],
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """End every token of an agent, also the one in grants.yaml, or the token with one hash. A revoked hash stays revoked."""
    from effectgate.config import load_settings
    from effectgate.receipts.store_tokens import revoke as revoke_hashes

    settings = load_settings(config)
    one = HASH.fullmatch(name)
    digests = {one[1]} if one is not None else _hashes_of(settings, name)
    if not digests:
        raise CommandError(f"{name} has no token", "see `effectgate grant show` for the agents", code=NO)
    revoke_hashes(settings.state, tuple(sorted(digests)), datetime.now(UTC))
    if as_json:
        print_json({"revoked": sorted(digests)})
    else:
        print(f"revoked {len(digests)} of {name}; a running proxy refuses them from the next request on")
    return 0


def _hashes_of(settings: Settings, name: str) -> set[str]:
    from effectgate.receipts.store_tokens import minted, remembered

    by_command = {token.digest for token in minted(settings.state, name)}
    return by_command | remembered(settings.state, name) | _written_hashes(settings, name)


def _written_hashes(settings: Settings, name: str) -> set[str]:
    """The hashes that grants.yaml has for an agent. Revoking must not depend on a file that parses: a broken one is searched as text."""
    from effectgate.policy.fault import FaultsError
    from effectgate.policy.grants_draft import token_hashes
    from effectgate.strict_yaml import read_yaml
    from effectgate.text_file import read_regular

    try:
        text = read_regular(settings.grants).decode("utf-8", "replace")
    except OSError:
        return set()
    try:
        found = token_hashes(read_yaml(text, str(settings.grants))).get(name)
        return {found} if found else set()
    except FaultsError:
        return _searched_hashes(text, name)


def _searched_hashes(text: str, name: str) -> set[str]:
    """Every hash in the items of the list of agents that name this one."""
    place = re.compile(rf"(?m)\bname:\s*[\"']?{re.escape(name)}[\"']?\s*(?:[,}}#].*)?$")
    return {found[1] for block in _agent_blocks(text) if place.search(block) for found in HASH.finditer(block)}


def _agent_blocks(text: str) -> list[str]:
    """The items of the first list of the file, which is that of the agents: from a dash to the next of the same depth."""
    first = re.search(r"(?m)^([ \t]*)-[ \t]", text)
    return re.split(rf"(?m)^(?={re.escape(first[1])}-[ \t])", text)[1:] if first else []
