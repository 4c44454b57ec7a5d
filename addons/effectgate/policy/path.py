"""Path patterns: segment by segment, decoded once, query apart (design.md section 2, Paths).

A pattern is *segmented* (literals, `{name}` with affixes, and at most a last `*`) or, with a `*` in mid-path, a *glob* over the whole
path. Segmented ones are indexed and compared piece by piece; a glob is a hazard, rare, and goes the general way.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field

from effectgate.policy import language
from effectgate.policy.fault import PatternError
from effectgate.policy.host import ABSENT, AFFIXED, LITERAL, PARAMETER, WILD
from effectgate.policy.language import Element, Program
from effectgate.policy.segment import PARAMETER_TEXT, Segment
from effectgate.policy.walk import GlobWalk, SegmentWalk, Walk, glob_matches

_ESCAPE = re.compile(r"%(?!2F)")
_HOLE = "\0"
_ANY_RUN = Element(frozenset(), negated=True, loop=True)
Spelt = tuple[tuple[Segment, ...], str | None]


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A path pattern. `segments` come before `tail` (the text before a last `*`, None without one); a glob has `glob` set instead."""

    text: str
    segments: tuple[Segment, ...]
    tail: str | None
    glob: tuple[str, ...] | None  # the literal runs between stars, the leading `/` included
    parameters: frozenset[str]
    fold: bool = False
    _exact: Walk | None = field(init=False, repr=False, compare=False)
    _folded: Walk | None = field(init=False, repr=False, compare=False)
    _literals: tuple[tuple[int, str], ...] = field(init=False, repr=False, compare=False)
    _holes: tuple[tuple[int, Segment], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_exact", None)
        object.__setattr__(self, "_folded", None)
        places = list(enumerate(self.segments))
        object.__setattr__(self, "_literals", tuple((at, part.prefix) for at, part in places if part.literal))
        object.__setattr__(self, "_holes", tuple((at, part) for at, part in places if not part.literal))

    @property
    def walk(self) -> Walk:
        """The walk over the letters that the request has. Made when first asked for, as most shapes of a catalogue never are."""
        if self.fold:
            return self.caseless
        if self._exact is None:
            object.__setattr__(self, "_exact", self._walk(False))
        assert self._exact is not None
        return self._exact

    @property
    def caseless(self) -> Walk:
        """The walk over folded letters."""
        if self._folded is None:
            object.__setattr__(self, "_folded", self._walk(True))
        assert self._folded is not None
        return self._folded

    def _walk(self, fold: bool) -> Walk:
        if self.glob is not None:
            return GlobWalk(tuple(run.casefold() for run in self.glob) if fold else self.glob, fold)
        segments = tuple(segment.folded() for segment in self.segments) if fold else self.segments
        return SegmentWalk(segments, self.tail.casefold() if fold and self.tail else self.tail, fold)

    @classmethod
    def parse(cls, text: str, fold: bool = False) -> PathPattern:
        """Read a pattern; PatternError says what is wrong and what to write instead. `fold` is `ignore_case = true`."""
        _check_text(text)
        names = [m.group(1) for m in PARAMETER_TEXT.finditer(text)]
        if len(names) != len(set(names)):
            raise PatternError(f"path {text!r} binds a parameter twice", "give each {name} its own name")
        parts = text[1:].split("/")
        stars = text.count("*")
        if stars == 0 or (stars == 1 and text.endswith("*")):
            tail = parts.pop()[:-1] if stars else None
            if tail and "{" in tail:
                raise PatternError(f"path {text!r} has a parameter beside `*` in one segment", "put a `/` between them")
            return cls(text, tuple(Segment.parse(text, p) for p in parts), tail, None, frozenset(names), fold)
        if names:
            raise PatternError(
                f"path {text!r} has a parameter beside a `*` that is not last", "write {name} for each segment"
            )
        return cls(text, (), None, tuple(text.split("*")), frozenset(), fold)

    def match(self, segments: tuple[str, ...]) -> dict[str, str] | None:
        """The parameters bound on the plain reading, or None. `segments` are decoded once (`/a/` is `("a", "")`)."""
        return self.bind(segments, self.fold)

    def bind(self, segments: tuple[str, ...], fold: bool) -> dict[str, str] | None:
        """As `match`, letters folded or not."""
        if self.glob is not None:
            return {} if glob_matches(self.glob, "/" + "/".join(segments), fold) else None
        count = len(self.segments)
        if len(segments) != count if self.tail is None else len(segments) <= count:
            return None
        out: dict[str, str] = {}
        if not fold:  # the common case, without a call for each segment
            for at, text in self._literals:
                if segments[at] != text:
                    return None
        for at, pattern in enumerate(self.segments) if fold else self._holes:
            if (value := pattern.value(segments[at], fold)) is None:
                return None
            if pattern.name:
                out[pattern.name] = value
        return out if not self.tail or _starts(segments[count], self.tail, fold) else None

    def program(self) -> Program:
        """The pattern as a language over the characters of the decoded path."""
        return _program(self, self.fold)

    def included(self, other: PathPattern) -> bool:
        """Whether every path of this pattern is one of the other's; exact."""
        if self.glob is None and other.glob is None and (other.fold or not self.fold):
            return self._included_by_segments(other)
        if other.glob is not None and (other.fold or not self.fold):
            return glob_matches(other.glob, self._with_holes(), other.fold)
        if self.glob is not None and other.tail is None and other.glob is None:
            return False  # its `*` has any number of segments
        return language.included(self.program(), (other.program(),))

    def _with_holes(self) -> str:
        """The pattern with a letter that no pattern has for each `*` and `{name}`: only a `*` takes it, and that takes any run."""
        return PARAMETER_TEXT.sub(_HOLE, self.text).replace("*", _HOLE)

    def _included_by_segments(self, other: PathPattern) -> bool:
        mine, its, fold = self.segments, other.segments, other.fold
        if other.tail is None and (self.tail is not None or len(mine) != len(its)):
            return False
        if len(mine) < len(its) or (len(mine) == len(its) and other.tail is not None and self.tail is None):
            return False
        if not all(m.included(i, fold) for m, i in zip(mine, its, strict=False)):
            return False
        if not other.tail:
            return True
        at = mine[len(its)].prefix if len(mine) > len(its) else self.tail or ""
        return at.casefold().startswith(other.tail.casefold()) if fold else at.startswith(other.tail)

    def intersects(self, other: PathPattern) -> bool:
        """Whether some path belongs to both; exact."""
        if self.glob is not None or other.glob is not None:
            return language.intersects(self.program(), other.program())
        fold = self.fold or other.fold
        mine, its = (self.spelt(fold), other.spelt(fold))
        return _meet(mine, its) if len(mine[0]) <= len(its[0]) else _meet(its, mine)

    def spelt(self, fold: bool) -> Spelt:
        """The segments and the tail of a segmented pattern, case-folded or as they stand."""
        if not fold:
            return self.segments, self.tail
        return tuple(s.folded() for s in self.segments), None if self.tail is None else self.tail.casefold()

    def rank(self) -> tuple[int, ...]:
        """Specificity, segments from the left; smaller is more specific."""
        if self.glob is not None:
            parts = self.text[1:].split("/")
            return (*(WILD if "*" in part else LITERAL for part in parts), ABSENT)
        kinds = [LITERAL if s.literal else AFFIXED if s.prefix or s.suffix else PARAMETER for s in self.segments]
        return (*kinds, *(() if self.tail is None else (WILD,)), ABSENT)


def _meet(short: Spelt, long: Spelt) -> bool:
    """Whether some path belongs to both; the first has no more segments than the other."""
    (mine, tail), (its, its_tail) = short, long
    if not all(one.intersects(two) for one, two in zip(mine, its, strict=False)):
        return False
    if len(mine) < len(its):
        return tail is not None and its[len(mine)].may_begin(tail)
    if tail is None or its_tail is None:
        return tail is its_tail
    return tail.startswith(its_tail) or its_tail.startswith(tail)


def _starts(text: str, tail: str, fold: bool) -> bool:
    return text.casefold().startswith(tail.casefold()) if fold else text.startswith(tail)


ANY_PATH = PathPattern("/*", (), "", None, frozenset())


def _check_text(text: str) -> None:
    if not text.startswith("/"):
        raise PatternError(f"path {text!r} does not begin with `/`", "write the whole path, such as `/v1/*`")
    if "?" in text or "#" in text:
        raise PatternError(f"path {text!r} has a query or fragment", "write query names in the shape's `query`")
    if not text.isprintable() or "\\" in text:
        raise PatternError(f"path {text!r} has a character no request may have", "write the decoded text of the path")
    if _ESCAPE.search(text):
        raise PatternError(
            f"path {text!r} has a percent-escape", "write the decoded character; only `%2F` stays escaped"
        )
    if any(part in (".", "..") for part in text.split("/")):
        raise PatternError(
            f"path {text!r} has a dot segment", "no request with one is ever admitted; write the plain path"
        )
    if "**" in text:
        raise PatternError(f"path {text!r} has `**`", "one `*` already crosses `/`")


@functools.lru_cache(maxsize=65536)
def _program(pattern: PathPattern, fold: bool) -> Program:
    if pattern.glob is not None:
        out = language.literal(pattern.glob[0], fold)
        for run in pattern.glob[1:]:
            out = (*out, _ANY_RUN, *language.literal(run, fold))
        return out
    out = ()
    for segment in pattern.segments:
        out = (*out, *language.literal("/"), *segment.program(fold))
    if pattern.tail is not None:
        out = (*out, *language.literal("/" + pattern.tail, fold), _ANY_RUN)
    return out
