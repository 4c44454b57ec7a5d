"""Host patterns: dot-separated labels, `*` for one or more whole labels, `{name}` for exactly one (design.md section 2, Hosts)."""

from __future__ import annotations

import functools
import ipaddress
import re
from dataclasses import dataclass

import idna
from publicsuffixlist import PublicSuffixList

from effectgate.policy import language
from effectgate.policy.fault import PatternError
from effectgate.policy.language import Element, Program

STAR = "*"
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_PARAMETER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
_ANY = Element(frozenset(), negated=True)
_RUN = Element(frozenset(), negated=True, loop=True)

# Ranks of specificity, most specific first; ABSENT ends every key, so that a longer one wins (design.md section 2, rule 3).
LITERAL, AFFIXED, PARAMETER, WILD, ABSENT = range(5)


@functools.cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList(only_icann=True)


@functools.cache
def _all_suffixes() -> PublicSuffixList:
    return PublicSuffixList()


@dataclass(frozen=True, slots=True)
class HostPattern:
    """A host pattern, lower-case. `labels` run from the left; `names[i]` is the parameter of label i or the empty text."""

    text: str
    labels: tuple[str, ...]
    names: tuple[str, ...]
    parameters: frozenset[str]

    @classmethod
    def parse(cls, text: str) -> HostPattern:
        """Read a pattern; PatternError says what is wrong and what to write instead. Equal texts give one value."""
        return _interned(text)

    @classmethod
    def read(cls, text: str) -> HostPattern:
        """As `parse`, without its memory."""
        lowered = text.lower()
        _refuse_urls(text)
        if not text.isascii():
            raise PatternError(f"host {text!r} is not ASCII", f"write the A-label: {_a_label(text)!r}")
        if _is_ip(lowered):
            return cls(lowered, (lowered,), ("",), frozenset())
        labels = tuple(lowered.split("."))
        for label in labels:
            _check_label(text, label)
        _check_whole(text, labels)
        names = tuple(m.group(1) if (m := _PARAMETER.fullmatch(label)) else "" for label in labels)
        bound = [name for name in names if name]
        if len(bound) != len(set(bound)):
            raise PatternError(f"host {text!r} binds a parameter twice", "give each {name} its own name")
        return cls(lowered, labels, names, frozenset(bound))

    @property
    def wild(self) -> bool:
        """Whether any label is `*`."""
        return STAR in self.labels

    def match(self, host: str) -> dict[str, str] | None:
        """The parameters that this normal-form host binds, or None where it does not match."""
        if not self.parameters and not self.wild:
            return {} if host == self.text else None
        return _match_labels(self.labels, self.names, tuple(host.split(".")))

    def program(self) -> Program:
        """The pattern as a language over labels."""
        out: list[Element] = []
        for label, name in zip(self.labels, self.names, strict=True):
            out.extend((_ANY, _RUN) if label == STAR else (_ANY,) if name else language.literal((label,)))
        return tuple(out)

    def included(self, other: HostPattern) -> bool:
        """Whether every host of this pattern is one of the other's."""
        if self.text == other.text or not (other.wild or other.parameters):
            return self.text == other.text
        if not self.wild and not other.wild:  # label by label: the languages below would say the same, far slower
            return len(self.labels) == len(other.labels) and all(
                theirs or (mine == wanted and not name)
                for mine, name, wanted, theirs in zip(self.labels, self.names, other.labels, other.names, strict=True)
            )
        return language.included(self.program(), (other.program(),))

    def intersects(self, other: HostPattern) -> bool:
        """Whether some host belongs to both."""
        return self.text == other.text or language.intersects(self.program(), other.program())

    def rank(self) -> tuple[int, ...]:
        """Specificity, labels from the right; smaller is more specific."""
        kinds = (
            WILD if label == STAR else PARAMETER if name else LITERAL
            for label, name in zip(reversed(self.labels), reversed(self.names), strict=True)
        )
        return (*kinds, ABSENT)

    def private_suffix(self) -> str:
        """The private public suffix (such as `github.io`) that a `*` covers whole, or the empty text: a hazard, not a fault."""
        rest = ".".join(label for label in self.labels if label != STAR and not label.startswith("{"))
        wide = self.labels[0] == STAR or bool(self.names[0])
        return rest if wide and rest and _all_suffixes().is_public(rest) else ""


@functools.lru_cache(maxsize=1 << 14)
def _interned(text: str) -> HostPattern:
    return HostPattern.read(text)


def _match_labels(labels: tuple[str, ...], names: tuple[str, ...], host: tuple[str, ...]) -> dict[str, str] | None:
    """Each `*` takes as few labels as it can; places that fail are remembered, so the cost is their number."""
    failed: set[tuple[int, int]] = set()

    def matched(at: int, place: int) -> dict[str, str] | None:
        if at == len(labels):
            return {} if place == len(host) else None
        if (at, place) in failed or place == len(host):
            return None
        name, label = names[at], labels[at]
        if name or label in (STAR, host[place]):
            ways = (place + 1,) if label != STAR else range(place + 1, len(host) + 1)
            for after in ways:
                if (rest := matched(at + 1, after)) is not None:
                    return {name: host[place], **rest} if name else rest
        failed.add((at, place))
        return None

    return matched(0, 0)


def _is_ip(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if str(address) != text:
        raise PatternError(f"host {text!r} is not the canonical spelling of its address", f"write {str(address)!r}")
    return True


def _a_label(text: str) -> str:
    try:
        return idna.encode(text.replace("*.", "")).decode("ascii")
    except idna.IDNAError:
        return "the name in Punycode"


def _refuse_urls(text: str) -> None:
    if "://" in text:
        raise PatternError(f"host {text!r} has a scheme", "write the host alone; a shape has the key `scheme`")
    if text.startswith("["):
        raise PatternError(
            f"host {text!r} is in brackets", "write an IPv6 address without brackets, in its canonical form"
        )
    if "/" in text:
        raise PatternError(f"host {text!r} has a `/`", "write one host; networks cannot be host patterns")
    if re.search(r":[0-9]*$", text) and text.count(":") == 1:
        raise PatternError(f"host {text!r} has a port", "write the port in the shape's `ports`")


def _check_label(text: str, label: str) -> None:
    if not label:
        raise PatternError(f"host {text!r} has an empty label", "write it without leading, trailing or doubled dots")
    if label == STAR or _PARAMETER.fullmatch(label):
        return
    if STAR in label or "{" in label or "}" in label:
        raise PatternError(f"host {text!r} has a fragment {label!r}", "`*` and `{name}` stand for whole labels only")
    if not _LABEL.fullmatch(label):
        raise PatternError(
            f"host {text!r} has the label {label!r}", "labels are letters, digits, `-` inside, at most 63"
        )


def _check_whole(text: str, labels: tuple[str, ...]) -> None:
    if len(labels) == 1 and (labels[0] == STAR or labels[0].startswith("{")):
        raise PatternError(f"host {text!r} is every host", "name the service's own domain")
    if labels[-1] == STAR or labels[-1].startswith("{"):
        raise PatternError(f"host {text!r} leaves its top domain open", "end the pattern in a literal domain")
    if _NUMERIC.fullmatch(labels[-1]):
        raise PatternError(f"host {text!r} looks like an address but is none", "write an address in its canonical form")
    if len(text) > 253:
        raise PatternError(f"host {text[:40]!r}… is longer than 253 characters", "DNS names end there (RFC 1035)")
    literal = []
    for label in reversed(labels):
        if label == STAR or label.startswith("{"):
            break
        literal.append(label)
    suffix = ".".join(reversed(literal))
    if len(literal) < len(labels) and _suffixes().is_public(suffix):
        raise PatternError(f"host {text!r} covers the whole public suffix {suffix!r}", "name the domain below it")
