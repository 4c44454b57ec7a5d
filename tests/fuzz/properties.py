"""The fuzzers by the name of their corpus."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fuzz.facts import check
from fuzz.files import check_canonical, check_grants, check_pack

PROPERTIES: Mapping[str, Callable[[bytes], None]] = {
    "facts": check,
    "pack": check_pack,
    "grants": check_grants,
    "canonical": check_canonical,
}
