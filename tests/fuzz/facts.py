"""Coverage-guided fuzzing of the request facts and the decision: `python -m fuzz.facts [libFuzzer options] [DIR]` (README.md).

`check` is the whole property; `test_fuzz_corpus.py` replays the corpus through it without atheris.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["effectgate.policy"]):
    from fuzz.property import check


if __name__ == "__main__":
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()
