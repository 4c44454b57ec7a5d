"""What a path pattern binds over all readings of a path: the values that a scope must cover (design.md section 2, rule 2)."""

from __future__ import annotations

from effectgate.policy.path import PathPattern
from effectgate.policy.reading import Readings
from effectgate.policy.segment import Segment

# Combinations of values kept; beyond it several entries of a grant cannot share a request, and one alone must cover it.
MAX_BINDINGS = 64

Bindings = tuple[tuple[str, str], ...]
Move = tuple[int, str, int]


def values(readings: Readings, pattern: PathPattern) -> dict[str, set[str]]:
    """Each parameter's values, one by one."""
    if readings.linear:
        return {name: {value} for name, value in (pattern.bind(readings.plain, True) or {}).items()}
    _, layers = _layers(readings, pattern)
    named = zip(pattern.segments, layers, strict=True)
    return {segment.name: {value for _, value, _ in layer} for segment, layer in named if segment.name}


def combinations(readings: Readings, pattern: PathPattern) -> frozenset[Bindings] | None:
    """The values that parameters take together; None where they are too many."""
    if readings.linear or pattern.glob is not None:
        bound = pattern.bind(readings.plain, True) if readings.linear else {}
        return frozenset() if bound is None else frozenset({tuple(bound.items())})
    starts, layers = _layers(readings, pattern)
    current: set[tuple[int, Bindings]] = {(at, ()) for at in starts}
    for segment, layer in zip(pattern.segments, layers, strict=True):
        current = {
            (after, (*bound, (segment.name, value)) if segment.name else bound)
            for at, bound in current
            for before, value, after in layer
            if before == at
        }
        if len({bound for _, bound in current}) > MAX_BINDINGS:
            return None
    return frozenset(bound for _, bound in current)


def _layers(readings: Readings, pattern: PathPattern) -> tuple[set[int], list[list[Move]]]:
    """Where a reading that matches the whole begins, and for each segment of the pattern the moves that lie on one."""
    layers: list[list[Move]] = []
    nodes = set(readings.settled[0])
    for segment in pattern.segments:
        layer = [move for at in nodes for move in _moves(readings, segment, at)]
        nodes = {after for _, _, after in layer}
        layers.append(layer)
    alive = {at for at in nodes if _ends(readings, pattern, at)}
    for at in range(len(layers) - 1, -1, -1):
        layers[at] = [move for move in layers[at] if move[2] in alive]
        alive = {before for before, _, _ in layers[at]}
    return alive, layers


def _moves(readings: Readings, segment: Segment, at: int) -> set[Move]:
    return {
        (at, value, after)
        for label, _, target in (readings.edges[at] if at < len(readings.edges) else ())
        if (value := segment.value(label, True)) is not None
        for after in readings.settled[target]
    }


def _ends(readings: Readings, pattern: PathPattern, at: int) -> bool:
    if pattern.tail is None:
        return at == len(readings.edges)
    tail = pattern.tail.casefold()
    return at < len(readings.edges) and any(folded.startswith(tail) for _, folded, _ in readings.edges[at])
