"""The committed corpus: one JSON text a line, its characters the bytes of an input. `python -m fuzz.corpus pack DIR` | `unpack DIR`."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path

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
    """One file an input, as libFuzzer wants them."""
    directory.mkdir(parents=True, exist_ok=True)
    for data in load(name):
        (directory / hashlib.sha1(data).hexdigest()).write_bytes(data)


if __name__ == "__main__":
    _, verb, fuzzer, place = sys.argv
    if verb == "pack":
        print(pack(fuzzer, (file.read_bytes() for file in Path(place).iterdir())))
    else:
        unpack(fuzzer, Path(place))
