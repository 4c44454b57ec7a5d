"""The catalog: all effects, indexed, immutable, with a digest (design.md section 1)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from effectgate.policy.authority import is_address
from effectgate.policy.discriminator import inspect_bytes
from effectgate.policy.effect import Effect, Shape, shape_parameters
from effectgate.policy.facts import RequestFacts
from effectgate.policy.host import HostPattern
from effectgate.policy.index import ANY_METHOD, Entry, HostNode, PathNode, entry_of
from effectgate.policy.path import ANY_PATH
from effectgate.policy.vocabulary import Risk

# Hosts whose place in the index is remembered. Requests choose the keys, so the memory is bounded and simply emptied.
MAX_HOSTS = 4096
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Catalog:
    """Effects by id and by the requests they could name. Built once, never changed; `digest` is over the effects' digests."""

    __slots__ = ("_hosts", "_parameters", "_root", "_shapes", "digest", "effects", "outcomes", "ports")

    def __init__(self, effects: Mapping[str, Effect], root: HostNode, shapes: Mapping[str, tuple[Shape, ...]]) -> None:
        self.effects: Mapping[str, Effect] = MappingProxyType(dict(effects))
        self.digest = _digest(effects.values())
        self.ports: frozenset[int] = frozenset(p for group in shapes.values() for s in group for p in s.ports)
        self._root = root
        self._shapes = shapes
        self._parameters = {effect: _shared_parameters(group) for effect, group in shapes.items()}
        self.outcomes: dict[
            tuple[object, ...], object
        ] = {}  # the memory of `outcome.weigh`; it goes when the catalog goes
        self._hosts: dict[str, tuple[HostNode, ...]] = {}

    @classmethod
    def build(cls, effects: Sequence[Effect]) -> Catalog:
        """Index the effects; their ids are unique and their faults have been checked before."""
        root = HostNode()
        shapes: dict[str, tuple[Shape, ...]] = {}
        for effect in effects:
            shapes[effect.id] = recognisers(effect)
            for shape in shapes[effect.id]:
                root.add(entry_of(effect, shape))
        return cls({effect.id: effect for effect in effects}, root, shapes)

    def shapes(self, effect: str) -> tuple[Shape, ...]:
        """The shapes by which this effect names requests, vouches among them."""
        return self._shapes[effect]

    def parameters(self, effect: str) -> frozenset[str]:
        """The parameters that every shape of this effect binds: those a refusal may propose values for."""
        return self._parameters[effect]

    def candidates(self, facts: RequestFacts) -> list[Entry]:
        """Every entry whose host, method and path could match on some reading."""
        out: list[Entry] = []
        for node in self._host_nodes(facts.host):
            for method in (facts.method, ANY_METHOD):
                if (paths := node.methods.get(method)) is not None:
                    out.extend(_entries(paths, facts))
        return out

    def knows_port(self, host: str, port: int) -> bool:
        """Whether some shape for this host has this port: asked at CONNECT, before there is a request."""
        nodes = self._host_nodes(host)
        return port in self.ports and any(
            port in entry.shape.ports for node in nodes for paths in node.methods.values() for entry in paths.entries()
        )

    def inspect_bytes(self, facts: RequestFacts) -> int:
        """How many bytes of the body its candidates need held (0: none)."""
        return max((inspect_bytes(entry.shape, facts) for entry in self.candidates(facts)), default=0)

    def _host_nodes(self, host: str) -> tuple[HostNode, ...]:
        nodes = self._hosts.get(host)
        if nodes is None:
            labels = (host,) if is_address(host) else tuple(host.split("."))
            if len(self._hosts) >= MAX_HOSTS:
                self._hosts.clear()
            nodes = self._hosts[host] = tuple(self._root.find(labels))
        return nodes


def _entries(paths: PathNode, facts: RequestFacts) -> list[Entry]:
    readings = facts.readings
    if not readings.linear:
        return paths.find_readings(readings)
    out: list[Entry] = []
    paths.find(readings.folded, 0, out)
    return out


def recognisers(effect: Effect) -> tuple[Shape, ...]:
    """The shapes that are tried: those written, or the vouches that an effect with hosts alone makes."""
    if effect.shapes or not effect.hosts:
        return effect.shapes
    return tuple(_vouch(effect.risk, host) for host in effect.hosts if not host.startswith("@"))


def _vouch(risk: Risk, host: str) -> Shape:
    """Rule 1: https on 443 only, and at risk read only safe methods without a body; never `%2F`."""
    read = risk is Risk.READ
    return Shape(_SAFE if read else frozenset(), HostPattern.parse(host), ANY_PATH, body=not read, vouch=True)


def _shared_parameters(shapes: Iterable[Shape]) -> frozenset[str]:
    bound = [shape_parameters(shape) for shape in shapes]
    return frozenset.intersection(*bound) if bound else frozenset()


def _digest(effects: Iterable[Effect]) -> str:
    lines = sorted(f"{effect.id} {effect.digest}\n" for effect in effects)
    return "sha256:" + hashlib.sha256("".join(lines).encode()).hexdigest()
