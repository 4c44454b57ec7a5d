"""What a goals file may contain: rules from phrases to effects, and which files tell what a repository is written in."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from effectgate.policy.ceiling_file import IdPattern
from effectgate.policy.document import Document
from effectgate.policy.fault import Fault, PatternError
from effectgate.policy.goal import Ecosystem, GoalRule, GoalRules, is_phrase
from effectgate.policy.schema import Table, read_table
from effectgate.policy.words import Name, filled


def _phrase(text: str) -> str:
    if not is_phrase(text):
        raise PatternError(f"{text!r} is not a phrase", "write lower-case words; `*` may end a word")
    return text


Phrases = Annotated[list[Annotated[str, AfterValidator(_phrase)]], AfterValidator(filled)]
IdPatterns = Annotated[list[IdPattern], AfterValidator(filled)]


class RuleTable(Table):
    """One `[[rule]]`. `narrow`: what it proposes may be narrowed to the languages of the repository."""

    name: Name
    phrases: Phrases
    propose: IdPatterns
    by_name: list[IdPattern] = Field(default_factory=list)
    narrow: bool = False


class EcosystemTable(Table):
    """One `[[ecosystem]]`: a language, the files that tell it, and the effects that only it needs."""

    name: str
    files: Annotated[list[str], AfterValidator(filled)]
    effects: IdPatterns


class GoalsTable(Table):
    """The file."""

    rule: list[RuleTable] = Field(default_factory=list)
    ecosystem: list[EcosystemTable] = Field(default_factory=list)


def read_goals(document: Document) -> tuple[GoalRules, list[Fault]]:
    """The rules of one file, and its faults."""
    table, faults = read_table(GoalsTable, document, document.value)
    if table is None or faults:
        return GoalRules((), ()), faults
    rules = tuple(
        GoalRule(row.name, tuple(row.phrases), tuple(row.propose), tuple(row.by_name), row.narrow) for row in table.rule
    )
    ecosystems = tuple(Ecosystem(row.name, tuple(row.files), tuple(row.effects)) for row in table.ecosystem)
    return GoalRules(rules, ecosystems), []
