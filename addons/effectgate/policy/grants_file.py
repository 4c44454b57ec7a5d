"""What `grants.yaml` may contain, key by key (design.md sections 2 and 6). `granting` makes grants of it."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, date, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, model_validator

from effectgate.policy.fault import PatternError
from effectgate.policy.grant import PERIODS, Escalation
from effectgate.policy.schema import Table, listed
from effectgate.policy.scope import ScopeValue
from effectgate.policy.words import EffectId, Name, choice, filled, text_of

# The ceiling of a grant that names none (design.md section 6).
DEFAULT_CEILING = "read-only"

# The largest integer that every reader of a receipt's JSON has exactly (RFC 8785, RFC 7493 section 2.2).
MAX_LIMIT = 2**53 - 1

# The principal of the proxy's own request at every start (proxy.canary); its refusals are shown to nobody.
RESERVED_NAME = "effectgate-canary"

_AGENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HASH = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


def _agent(text: str) -> str:
    if not _AGENT.fullmatch(text):
        raise PatternError(
            f"{text!r} is not the name of an agent", "write letters, digits, `.`, `_` and `-`, at most 64"
        )
    if text == RESERVED_NAME:
        raise PatternError(f"{text} is the name of the proxy's own requests", "choose another name")
    return text


def _hash(what: str, fix: str) -> PlainValidator:
    def check(value: object) -> str:
        found = _HASH.fullmatch(text_of(value, what))
        if not found:
            raise PatternError(f"{value!r} is not {what}: sha256: and 64 hex digits", fix)
        return f"sha256:{found[1]}"

    return PlainValidator(check)


def _time(value: object) -> datetime:
    """A time as YAML reads it, or the same in quotes, as programs write it (RFC 3339)."""
    if isinstance(value, str) and "T" in value:
        with contextlib.suppress(ValueError):
            value = datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        kind = "a date without a time" if isinstance(value, date) else "not a time"
        raise PatternError(f"{str(value)!r} is {kind}", "write it as 2027-01-31T00:00:00Z")
    if value.tzinfo is None:
        raise PatternError(f"{value.isoformat()} has no time zone", f"write {value.isoformat()}Z")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise PatternError(f"{value.isoformat()} is no time in UTC", "write a year from 1 to 9999") from None


def _scope_value(value: object) -> ScopeValue:
    if isinstance(value, dict):
        if set(value) != {"is"} or not isinstance(value["is"], str) or not value["is"]:
            raise PatternError(f"{value!r} is not a literal", 'write it as {is: "text"}')
        return ScopeValue(value["is"], literal=True)
    text = text_of(value, "a pattern")
    if not text:
        raise PatternError("the pattern is empty and covers nothing", 'write the values, or "*" for any')
    return ScopeValue(text)


def _version(value: int) -> int:
    if value != 1:
        raise PatternError(f"version {value} of this file is not known here", "write version: 1")
    return value


def _positive(value: int) -> int:
    if value < 1:
        raise PatternError(f"{value} is not a limit", "write a number above 0, or leave the key out for no limit")
    if value > MAX_LIMIT:
        raise PatternError(f"{value} is more than can be counted", "leave the key out for no limit")
    return value


ScopeValues = Annotated[
    list[Annotated[ScopeValue, PlainValidator(_scope_value)]], BeforeValidator(listed), AfterValidator(filled)
]
TokenHash = Annotated[str, _hash("the hash of a token", "copy what `effectgate token new NAME` prints")]
EffectDigest = Annotated[str, _hash("the digest of an effect", "seal the entry anew with `effectgate grant propose`")]
CatalogDigest = Annotated[str, _hash("the digest of a catalogue", "copy it from `effectgate packs list --json`")]
Time = Annotated[datetime, PlainValidator(_time)]
Credential = Annotated[str, _hash("the hash of a credential", "copy it from a receipt")]
Credentials = Annotated[list[Credential], BeforeValidator(listed), AfterValidator(filled)]
Count = Annotated[int, AfterValidator(_positive)]


class GrantsTable(Table):
    """The file: its version, and agents as they stand; each is read by itself."""

    version: Annotated[int, AfterValidator(_version)]
    agents: list[Any] = Field(default_factory=list)


class LimitsTable(Table):
    """`limits:`."""

    requests: Count | None = None
    upload_bytes: Count | None = None
    per: Annotated[str, PlainValidator(choice("a period", {word: word for word in PERIODS}))]


class ObserveTable(Table):
    """`observe:`."""

    until: Time


class EntryTable(Table):
    """One item of `effects:`; a bare id is an entry with nothing else."""

    effect: EffectId
    where: dict[str, ScopeValues] = Field(default_factory=dict)
    credential: Credentials = Field(default_factory=list)
    sealed: EffectDigest | None = None

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, row: object) -> object:
        return {"effect": row} if isinstance(row, str) else row


class AgentTable(Table):
    """One item of `agents:`; the items of its `effects` are read one by one."""

    name: Annotated[str, AfterValidator(_agent)]
    token: TokenHash | None = None
    ceiling: Name = DEFAULT_CEILING
    effects: list[Any] = Field(default_factory=list)
    expires: Time | None = None
    limits: LimitsTable | None = None
    escalation: Escalation = "deny"
    credential: Credentials = Field(default_factory=list)
    goal: str = ""
    sealed: CatalogDigest | None = None
    observe: ObserveTable | None = None
