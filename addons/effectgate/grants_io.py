"""`grants.yaml` as text to grants by principal: the strict YAML reader before the pure rules of `policy.granting`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from effectgate.policy.grant import EffectIndex, Grant
from effectgate.policy.granting import grants_of, token_hashes
from effectgate.policy.lattice import Ceiling
from effectgate.strict_yaml import read_yaml


def compile_grants(
    text: str, file: str, catalog: EffectIndex, ceilings: Mapping[str, Ceiling], now: datetime
) -> Mapping[str, Grant]:
    """The grant of every agent in the file. Raises FaultsError with every fault at once; the caller keeps what it had."""
    return grants_of(read_yaml(text, file), catalog, ceilings, now)


def read_token_hashes(text: str, file: str) -> Mapping[str, str]:
    """Agent -> hex SHA-256 of the token that the file gives it. Raises FaultsError."""
    return token_hashes(read_yaml(text, file))
