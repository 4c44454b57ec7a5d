"""The kinds of value that packs, ceilings and grants share, each check with its remedy (design.md sections 2 and 6)."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Annotated, cast

from pydantic import AfterValidator, BeforeValidator, PlainValidator

from effectgate.policy.command import CommandPattern
from effectgate.policy.fault import PatternError
from effectgate.policy.host import HostPattern
from effectgate.policy.json_body import tokens
from effectgate.policy.path import PathPattern
from effectgate.policy.schema import listed, near
from effectgate.policy.value import ValuePattern
from effectgate.policy.vocabulary import LEVELS, OPERATIONS, RISKS, SINKS, Level, Risk

TITLE_LENGTH = 80
_ID_SEGMENT = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_GRAPHQL_FIELD = re.compile(r"[_A-Za-z*][_0-9A-Za-z*]*")
_METHOD = re.compile(r"[A-Z][A-Z0-9_-]*")
_SIZE = re.compile(r"([1-9][0-9]{0,8}) (B|KiB|MiB|GiB)")
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN", "RLE", "RLO", "RLI", "LRE", "LRO", "LRI", "FSI", "PDF", "PDI"})


def text_of(value: object, what: str) -> str:
    """The value where it is text; PatternError says what was wanted."""
    if not isinstance(value, str):
        raise PatternError(f"{value!r} is not {what}", "write text, in quotes")
    return value


def choice[T](what: str, words: Mapping[str, T]) -> Callable[[object], T]:
    """A check for one word of a vocabulary, as what the word stands for."""

    def check(value: object) -> T:
        word = text_of(value, what)
        if word not in words:
            meant = near(word, words)
            raise PatternError(f"{word!r} is not {what}", f"write {meant or 'one of ' + ', '.join(words)}")
        return words[word]

    return check


def is_id_segment(text: str) -> bool:
    """Whether the text is a half of an effect id: `[a-z0-9]` with `-` inside."""
    return _ID_SEGMENT.fullmatch(text) is not None


def is_effect_id(text: str) -> bool:
    """Whether the text is a full id, `pack/effect`."""
    pack, slash, effect = text.partition("/")
    return bool(slash) and is_id_segment(pack) and is_id_segment(effect)


def _id_segment(text: str) -> str:
    if not is_id_segment(text):
        meant = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
        raise PatternError(f"{text!r} is not an id", f"write {meant!r}" if meant else "write a-z, 0-9 and `-` inside")
    return text


def _effect_id(text: str) -> str:
    if not is_effect_id(text):
        raise PatternError(f"{text!r} is not an effect id", "write PACK/EFFECT, both of a-z, 0-9 and `-` inside")
    return text


def _title(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise PatternError(f"the title {text!r} is empty or not printable", "write one line of plain text")
    if len(text) > TITLE_LENGTH:
        raise PatternError(f"the title has {len(text)} characters", f"shorten it to {TITLE_LENGTH}")
    if any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text):
        raise PatternError(f"the title {text!r} is bidirectional", "leave out right-to-left letters and marks")
    return text


def _method(text: str) -> str:
    if not _METHOD.fullmatch(text):
        fix = f"write {text.upper()!r}" if _METHOD.fullmatch(text.upper()) else "name each method, such as GET"
        raise PatternError(f"{text!r} is not a method; methods are upper case", fix)
    return text


def _field_name(text: str) -> str:
    if not _TOKEN.fullmatch(text):
        raise PatternError(f"{text!r} is not a header name", "write letters, digits and `-` (RFC 9110 section 5.1)")
    return text.lower()


def _size(value: object) -> int:
    found = _SIZE.fullmatch(text_of(value, "a size"))
    if not found:
        raise PatternError(f"{value!r} is not a size", 'write a number and a unit, such as "8 MiB"')
    return int(found[1]) * _UNITS[found[2]]


def _port(value: int) -> int:
    if not 0 < value < 65536:
        raise PatternError(f"{value} is not a port", "write a number from 1 to 65535")
    return value


def filled[T](value: list[T]) -> list[T]:
    """The list where it has an item."""
    if not value:
        raise PatternError("the list is empty", "name at least one, or leave the key out")
    return value


# A pack names few hosts many times.
_host_pattern = functools.lru_cache(maxsize=4096)(HostPattern.parse)


def _host(value: object) -> HostPattern | str:
    """A host pattern, or `@site` as text."""
    text = text_of(value, "a host")
    if not text.startswith("@"):
        return _host_pattern(text)
    if not is_id_segment(text[1:]):
        raise PatternError(
            f"{text!r} is not the name of a site", "write `@` and a-z, 0-9, `-` inside, such as @kubernetes"
        )
    return text


def _path(value: object) -> PathPattern:
    return PathPattern.parse(text_of(value, "a path"))


def _value_pattern(value: object) -> ValuePattern:
    return ValuePattern.parse(text_of(value, "a value"))


def _pointer(text: str) -> str:
    tokens(text)
    return text


def _graphql_field(value: object) -> ValuePattern:
    pattern = _value_pattern(value)
    if pattern.name or not _GRAPHQL_FIELD.fullmatch(pattern.text):
        raise PatternError(f"{pattern.text!r} is not a root field", "write its name as in the schema; `*` is any run")
    return pattern


def _distinct(value: object) -> object:
    if isinstance(value, dict) and len({str(name).lower() for name in value}) < len(value):
        raise PatternError("a header is written twice, in different letter case", "keep one, with a list of values")
    return value


def _tool(text: str) -> str:
    if not text or not text.isprintable() or " " in text:
        raise PatternError(f"{text!r} is not the name of a tool", "write the name as the server lists it")
    return text


def _command(text: str) -> str:
    CommandPattern.parse(text)
    return text


def _ignore_case(value: object) -> frozenset[str] | bool:
    names = [name for name in value if isinstance(name, str)] if isinstance(value, list) else None
    if isinstance(value, bool):
        return value
    if names is None or len(names) != len(cast(list[object], value)):
        raise PatternError(
            f"{value!r} is neither true nor a list of parameters", 'write true, or names such as ["owner"]'
        )
    return frozenset(names)


Name = Annotated[str, AfterValidator(_id_segment)]
EffectId = Annotated[str, AfterValidator(_effect_id)]
Title = Annotated[str, AfterValidator(_title)]
RiskWord = Annotated[Risk, PlainValidator(choice("a risk", RISKS))]
LevelWord = Annotated[Level, PlainValidator(choice("a level", LEVELS))]
Operation = Annotated[str, PlainValidator(choice("an operation", {word: word for word in OPERATIONS}))]
Sink = Annotated[str, PlainValidator(choice("a sink", {word: word for word in SINKS}))]
Methods = Annotated[list[Annotated[str, AfterValidator(_method)]], BeforeValidator(listed), AfterValidator(filled)]
FieldName = Annotated[str, AfterValidator(_field_name)]
Size = Annotated[int, PlainValidator(_size)]
Ports = Annotated[list[Annotated[int, AfterValidator(_port)]], AfterValidator(filled)]
Host = Annotated[HostPattern | str, PlainValidator(_host)]
Path = Annotated[PathPattern, PlainValidator(_path)]
Tool = Annotated[str, AfterValidator(_tool)]
Command = Annotated[str, AfterValidator(_command)]
Fold = Annotated[frozenset[str] | bool, PlainValidator(_ignore_case)]
Values = Annotated[
    list[Annotated[ValuePattern, PlainValidator(_value_pattern)]], BeforeValidator(listed), AfterValidator(filled)
]
Headers = Annotated[dict[FieldName, Values], BeforeValidator(_distinct)]
Pointer = Annotated[str, AfterValidator(_pointer)]
GraphQLFields = Annotated[list[Annotated[ValuePattern, PlainValidator(_graphql_field)]], BeforeValidator(listed)]
