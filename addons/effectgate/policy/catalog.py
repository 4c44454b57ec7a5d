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
from effectgate.policy.index import ANY_METHOD, Entry, HostNode, PathNode
from effectgate.policy.path import ANY_PATH
from effectgate.policy.vocabulary import Risk

# Hosts whose place in the index is remembered. Requests choose the keys, so the memory is bounded and simply emptied.
MAX_HOSTS = 4096
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Catalog:
    """Effects by id and by the requests they could name. Built once, never changed; `digest` is over the effects' digests."""

    __slots__ = ("_hosts", "_parameters", "_root", "_shapes", "digest", "effects", "outcomes", "ports")

    def __init__(self, effects: Mapping[str, Effect], root: HostNode) -> None:
        self.effects: Mapping[str, Effect] = MappingProxyType(dict(effects))
        self.digest = _digest(effects.values())
        self.ports: frozenset[int] = frozenset(port for effect in effects.values() for port in _ports(effect))
        self._root = root
        self._shapes: dict[str, Sequence[Shape]] = {}
        self._parameters: dict[str, frozenset[str]] = {}
        self.outcomes: dict[
            tuple[object, ...], object
        ] = {}  # the memory of `outcome.weigh`; it goes when the catalog goes
        self._hosts: dict[str, tuple[HostNode, ...]] = {}

    @classmethod
    def build(cls, effects: Sequence[Effect]) -> Catalog:
        """Index the effects by host; their ids are unique and their faults have been checked before."""
        root = HostNode()
        for effect in effects:
            for host in effect.reach or _vouched(effect):
                root.add(effect, host)
        return cls({effect.id: effect for effect in effects}, root)

    def shapes(self, effect: str) -> Sequence[Shape]:
        """The shapes by which this effect names requests, vouches among them; the same ones each time."""
        if (known := self._shapes.get(effect)) is None:
            known = self._shapes[effect] = recognisers(self.effects[effect])
        return known

    def parameters(self, effect: str) -> frozenset[str]:
        """The parameters that every shape of this effect binds: those a refusal may propose values for."""
        if (known := self._parameters.get(effect)) is None:
            known = self._parameters[effect] = _shared_parameters(self.shapes(effect))
        return known

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
            for node in nodes:
                node.file(lambda effect: self.shapes(effect.id))
        return nodes


def _entries(paths: PathNode, facts: RequestFacts) -> list[Entry]:
    if not facts.readings.linear:
        return paths.find_readings(facts)
    out: list[Entry] = []
    paths.find(facts, 0, out)
    return out


def recognisers(effect: Effect) -> Sequence[Shape]:
    """The shapes that are tried: those written, or the vouches that an effect with hosts alone makes."""
    return effect.shapes or tuple(_vouch(effect.risk, host) for host in _vouched(effect))


def _vouched(effect: Effect) -> tuple[HostPattern, ...]:
    """The hosts of an effect without shapes; a site that is not set is none."""
    return () if effect.shapes else tuple(HostPattern.parse(host) for host in effect.hosts if not host.startswith("@"))


def _ports(effect: Effect) -> frozenset[int]:
    return effect.ports or (frozenset({443}) if _vouched(effect) else frozenset())


def _vouch(risk: Risk, host: HostPattern) -> Shape:
    """Rule 1: https on 443 only, and at risk read only safe methods without a body; never `%2F`."""
    read = risk is Risk.READ
    return Shape(_SAFE if read else frozenset(), host, ANY_PATH, body=not read, vouch=True)


def _shared_parameters(shapes: Iterable[Shape]) -> frozenset[str]:
    bound = [shape_parameters(shape) for shape in shapes]
    return frozenset.intersection(*bound) if bound else frozenset()


def _digest(effects: Iterable[Effect]) -> str:
    lines = sorted(f"{effect.id} {effect.digest}\n" for effect in effects)
    return "sha256:" + hashlib.sha256("".join(lines).encode()).hexdigest()
