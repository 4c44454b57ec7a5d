"""`effectgate explain`: the verdict on a request, and why; `--batch` for many."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from effectgate.cli.catalogue import Catalogue, PacksOption, SiteOption, open_catalogue, read_argument, read_ids
from effectgate.cli.output import NO, CommandError, ConfigOption, JsonOption, json_text, print_json, printable

if TYPE_CHECKING:
    from effectgate.explanation import Explainer, Question
    from effectgate.policy.grant import Grant
    from effectgate.policy.verdict import Verdict


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("explain")(explain)


def explain(
    method: Annotated[str | None, typer.Argument(metavar="METHOD")] = None,
    url: Annotated[str | None, typer.Argument(metavar="URL")] = None,
    agent: Annotated[str | None, typer.Option("--agent", metavar="NAME", help="With the grant of this agent.")] = None,
    effects: Annotated[str | None, typer.Option("--effects", metavar="A,B|@FILE", help="With these effects.")] = None,
    packs: PacksOption = None,
    site: SiteOption = None,
    header: Annotated[list[str] | None, typer.Option("-H", "--header", metavar="'NAME: VALUE'")] = None,
    data: Annotated[str, typer.Option("--data", metavar="TEXT|@FILE", help="The body.")] = "",
    batch: Annotated[bool, typer.Option("--batch", help="One JSON request a line in, one answer a line out.")] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Say what would be answered, and why. Exit 0 where it is ALLOW (with --batch: where every line was answered)."""
    from effectgate.explanation import Explainer

    if batch == (method is not None) or (method is not None and url is None):
        raise CommandError("either METHOD URL or --batch is needed", "write `effectgate explain GET https://…`")
    if agent is not None and effects is not None:
        raise CommandError("--agent and --effects exclude each other", "leave one out")
    question = None if batch else _question(method or "", url or "", header or [], data)
    catalogue = open_catalogue(config, packs, site)
    grant = catalogue.grant_of_ids(read_ids(effects or "")) if agent is None else catalogue.grant_of_agent(agent)
    explainer = Explainer(catalogue.policy.catalog, frozenset(catalogue.settings.written.network.ports))
    if question is None:
        return _batch(explainer, catalogue, grant)
    verdict = explainer.explain(question, grant, datetime.now(UTC))
    code = _one(verdict, as_json)
    if agent is None and effects is None and not as_json:
        print("  (asked under no grant: give --agent NAME or --effects A,B)")
    return code


def _question(method: str, url: str, headers: list[str], data: str) -> Question:
    from effectgate.explanation import Question

    pairs = [header.partition(":") for header in headers]
    if wrong := next((header for header in headers if ":" not in header), None):
        raise CommandError(f"-H {wrong!r} has no colon", "write -H 'Name: value'")
    body = Path(data[1:]).read_bytes() if data.startswith("@") and Path(data[1:]).is_file() else None
    fields = tuple((name.strip(), value.strip()) for name, _, value in pairs)
    return Question(method, url, fields, read_argument(data).encode() if body is None else body)


def _one(verdict: Verdict, as_json: bool) -> int:
    from effectgate.explanation import verdict_json

    if as_json:
        print_json({**verdict_json(verdict), "reason": verdict.reason})
        return 0 if verdict.allowed else NO
    print(f"{verdict.verdict} {verdict.reason_code}".rstrip())
    print(printable(verdict.reason))
    for named in verdict.recognised:
        print(f"  recognised   {named.effect}  ({named.risk.word}) {printable(named.title)}")
    for proposal in verdict.would_admit:
        where = f"  where {printable(json.dumps(dict(proposal.where), default=list))}" if proposal.where else ""
        also = f"  with {', '.join(proposal.also)}" if proposal.also else ""
        above = "" if proposal.within_ceiling else "  (above the ceiling)"
        print(f"  would admit  {proposal.effect}{where}{also}{above}")
    return 0 if verdict.allowed else NO


def _batch(explainer: Explainer, catalogue: Catalogue, default: Grant) -> int:
    """Answer every line of stdin in its order. The grants of a batch repeat: each set of ids is lowered once."""
    from effectgate.explanation import QuestionError, invalid, read_question, verdict_json

    grants: dict[tuple[str, ...] | None, Grant] = {None: default}
    now = datetime.now(UTC)
    for line in sys.stdin.buffer:
        try:
            question = read_question(line)
            if question.effects not in grants:
                grants[question.effects] = catalogue.grant_of_ids(question.effects or ())
            verdict = explainer.explain(question, grants[question.effects], now)
        except (QuestionError, CommandError) as error:
            verdict = invalid(str(error))
        sys.stdout.write(json_text(verdict_json(verdict)) + "\n")
    return 0
