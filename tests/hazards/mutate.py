"""Take each mitigation of hazards.toml out, in a copy, and see its tests fail: `python tests/hazards/mutate.py [ID…]`.

What was seen goes into outcomes.json and, for people, docs/hazards.md. Exit 1 if a mitigation can go without a test noticing. All of
them take ten to twenty minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
COPIED = (
    "addons",
    "tests",
    "effects",
    "bench",
    "docs",
    "pyproject.toml",
    "README.md",
    "run_proxy.sh",
    "requirements.lock",
)
SECONDS = 300.0
OUTCOMES = Path(__file__).parent / "outcomes.json"
PAGE = ROOT / "docs" / "hazards.md"
Hazard = Mapping[str, Any]
Outcome = dict[str, str]  # what was taken out, the test that noticed, the date


def hazards() -> list[Hazard]:
    """The rows of hazards.toml."""
    return list(tomllib.loads((Path(__file__).parent / "hazards.toml").read_text())["hazard"])


def copied(to: Path) -> Path:
    """A copy of the tree that tests run in."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, to / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, to / name)
    return to


def place(root: Path, patch: Mapping[str, str]) -> Path:
    """The file in which the text stands that a patch replaces: exactly once in the product, or in the file that it names."""
    files = [root / patch["file"]] if "file" in patch else sorted((root / "addons").rglob("*.py"))
    found = [(file, count) for file in files if (count := file.read_text().count(patch["old"]))]
    if len(found) != 1 or found[0][1] != 1:
        shown = [f"{file.relative_to(root)} ({count})" for file, count in found]
        raise LookupError(f"{patch['old']!r} stands not once but in {shown}: mend the row of hazards.toml")
    return found[0][0]


@contextlib.contextmanager
def without(root: Path, patches: Sequence[Mapping[str, str]]) -> Iterator[None]:
    """The tree with these replacements."""
    places = [place(root, patch) for patch in patches]
    kept = {file: file.read_text() for file in places}
    try:
        for file, patch in zip(places, patches, strict=True):
            file.write_text(file.read_text().replace(patch["old"], patch["new"]))
        yield
    finally:
        for file, text in kept.items():
            file.write_text(text)


def failing(root: Path, tests: Sequence[str]) -> str:
    """The first test that fails, or the empty string. Raises RuntimeError where none could be run."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--timeout=60", *tests]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "no end"
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
    found = re.search(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return "" if done.returncode == 0 else found.group(1) if found else done.stdout[-300:]


def tried(root: Path, hazard: Hazard) -> Iterator[Outcome]:
    """What was taken out, and the first test that noticed (empty: not all of those named did)."""
    for removal in hazard.get("removals", ()):
        with without(root, removal["patches"]):
            seen = [failing(root, [test]) for test in removal["fails"]]
        yield {
            "what": removal["what"],
            "noticed": seen[0] if all(seen) else "",
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
        }


def outcomes() -> dict[str, list[Outcome]]:
    """What was seen last, by hazard."""
    return dict(json.loads(OUTCOMES.read_text())) if OUTCOMES.exists() else {}


def record(hazard: str, seen: list[Outcome]) -> None:
    """Keep what was seen of one hazard, and drop what is no hazard any more."""
    known = {**outcomes(), hazard: seen}
    kept = {str(row["id"]): known[row["id"]] for row in hazards() if row["id"] in known}
    OUTCOMES.write_text(json.dumps(kept, indent=1) + "\n")


def page() -> str:
    """docs/hazards.md."""
    lines = [
        "# Hazards of mitmproxy, and what was seen when each mitigation was taken out",
        "",
        "Written by `python tests/hazards/mutate.py`; the rows, with the exact replacements, are `tests/hazards/hazards.toml` (ADR 0049).",
    ]
    known = outcomes()
    for hazard in hazards():
        lines += ["", f"## {hazard['id']}", "", hazard["words"], ""]
        for seen in known.get(hazard["id"], []):
            noticed = f"`{seen['noticed']}` fails" if seen["noticed"] else "**no test fails**"
            lines.append(f"- Without it ({seen['what']}): {noticed} ({seen['date']}).")
        lines += [f"- Nothing to take out: {hazard['unheld']}"] if "unheld" in hazard else []
        lines += [f"- Held by `{test}`." for test in hazard["tests"]]
    return "\n".join([*lines, ""])


def main() -> int:
    """Try the hazards named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*")
    given = parser.parse_args()
    chosen = [hazard for hazard in hazards() if not given.ids or hazard["id"] in given.ids]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="effectgate-hazards-") as place:
        root = copied(Path(place))
        named = {test for hazard in chosen for removal in hazard.get("removals", ()) for test in removal["fails"]}
        if already := failing(root, sorted(named)):
            sys.exit(f"{already} fails with nothing taken out")
        for hazard in chosen:
            seen = list(tried(root, hazard))
            record(hazard["id"], seen)
            missed += sum(not one["noticed"] for one in seen)
            for one in seen:
                print(
                    f"{'noticed' if one['noticed'] else 'MISSED '}  {hazard['id']}: {one['what']}: {one['noticed']}",
                    flush=True,
                )
    PAGE.write_text(page())
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
