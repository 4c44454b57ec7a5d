"""Coverage-guided fuzzing: `python -m fuzz.run NAME [libFuzzer options] [DIR]` (README.md); NAME is a corpus.

The properties are plain functions; `test_fuzz_corpus.py` replays the corpora through them without atheris.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["effectgate"]):
    from fuzz.properties import PROPERTIES


if __name__ == "__main__":
    check = PROPERTIES[sys.argv.pop(1)]
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()
