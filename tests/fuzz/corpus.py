"""The committed corpora: one JSON text a line, its characters the bytes of an input.

`python -m fuzz.corpus unpack NAME DIR`: one file an input, as libFuzzer wants them. `python -m fuzz.corpus take NAME DIR`: add those files of
DIR that reach a branch of the product which no input before them reached, shortest first.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType

HERE = Path(__file__).parent / "corpus"


def load(name: str) -> list[bytes]:
    """The inputs of one fuzzer."""
    return [json.loads(line).encode("latin-1") for line in (HERE / f"{name}.jsonl").read_text().splitlines()]


def pack(name: str, inputs: Iterable[bytes]) -> int:
    """Write the inputs, each once, shortest first; how many."""
    lines = [json.dumps(data.decode("latin-1")) for data in sorted(set(inputs), key=lambda data: (len(data), data))]
    (HERE / f"{name}.jsonl").write_text("\n".join([*lines, ""]))
    return len(lines)


def unpack(name: str, directory: Path) -> None:
    """One file an input."""
    directory.mkdir(parents=True, exist_ok=True)
    for data in load(name):
        (directory / hashlib.sha1(data).hexdigest()).write_bytes(data)


def telling(check: Callable[[bytes], None], inputs: Iterable[bytes]) -> Iterator[bytes]:
    """Those inputs that take a branch which none before them took."""
    seen: set[tuple[CodeType, int, int]] = set()

    def took(code: CodeType, at: int, to: int) -> None:
        if "/addons/effectgate/" in code.co_filename:
            seen.add((code, at, to))

    watch, branch = sys.monitoring, sys.monitoring.events.BRANCH
    watch.use_tool_id(watch.COVERAGE_ID, "corpus")
    watch.register_callback(watch.COVERAGE_ID, branch, took)
    watch.set_events(watch.COVERAGE_ID, branch)
    try:
        for data in inputs:
            before = len(seen)
            check(data)
            if len(seen) > before:
                yield data
    finally:
        watch.free_tool_id(watch.COVERAGE_ID)


def main(verb: str, name: str, place: str) -> None:
    """One of the two verbs."""
    if verb == "unpack":
        return unpack(name, Path(place))
    from fuzz.properties import PROPERTIES

    found = sorted((file.read_bytes() for file in Path(place).iterdir()), key=len)
    kept = load(name)
    taken = list(telling(PROPERTIES[name], [*kept, *found]))
    print(f"{name}: {len(kept)} before, {pack(name, [*kept, *taken])} now")
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])
