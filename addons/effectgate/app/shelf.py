"""The shapes of a cached effect, put away as bytes until a request comes for one of its hosts: most effects are never asked."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Sequence
from typing import overload

from effectgate.policy.effect import Effect, Shape


class Shelf(Sequence[Shape]):
    """A sequence of shapes that is unpickled once, on first use; its length is known before."""

    __slots__ = ("_length", "_packed", "_shapes")

    def __init__(self, shapes: Sequence[Shape]) -> None:
        self._length = len(shapes)
        self._packed = pickle.dumps(tuple(shapes), pickle.HIGHEST_PROTOCOL)
        self._shapes: tuple[Shape, ...] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self._length, self._packed)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Shape: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Shape]: ...
    def __getitem__(self, index: int | slice) -> Shape | Sequence[Shape]:
        if self._shapes is None:
            self._shapes = pickle.loads(self._packed)
        assert self._shapes is not None
        return self._shapes[index]


def _restored(length: int, packed: bytes) -> Shelf:
    shelf = Shelf.__new__(Shelf)
    shelf._length, shelf._packed, shelf._shapes = length, packed, None
    return shelf


def shelved(effect: Effect) -> Effect:
    """The effect with its shapes put away."""
    return dataclasses.replace(effect, shapes=Shelf(effect.shapes)) if effect.shapes else effect
