"""`would_admit`: what to ask for, found by the same function that admits (design.md section 2, rule 4)."""

from __future__ import annotations

from collections.abc import Mapping

from effectgate.policy.admission import Admission, literal_values
from effectgate.policy.catalog import Catalog
from effectgate.policy.effect import Effect
from effectgate.policy.grant import Grant
from effectgate.policy.verdict import Proposal, WhereValue
from effectgate.policy.vocabulary import Risk


def proposals(catalog: Catalog, admission: Admission, grant: Grant) -> tuple[Proposal, ...]:
    """Every naming effect that, added to the grant with exactly its blockers, admits; ordered by top risk, specificity, id."""
    found: list[tuple[Risk, int, Proposal]] = []
    for effect_id, matches in admission.by_effect.items():
        ranks = [at for at, match in enumerate(admission.matches) if match.named and match.effect.id == effect_id]
        if ranks:
            proposal = _propose(catalog, admission, grant, matches[0].effect)
            top = max(catalog.effects[e].risk for e in (effect_id, *proposal.also))
            found.append((top, ranks[0], proposal))
    found.sort(key=lambda item: (item[0], item[1], item[2].effect))
    return tuple(proposal for _, _, proposal in found)


def _propose(catalog: Catalog, admission: Admission, grant: Grant, effect: Effect) -> Proposal:
    where = {} if admission.holds(effect.id) else _where(catalog, admission, effect)
    also = tuple(sorted(admission.blocking(effect.id)))
    within = all(grant.ceiling.admits(catalog.effects[e]) == "" for e in (effect.id, *also))
    return Proposal(effect.id, effect.title, effect.risk, where, also, within)


def _where(catalog: Catalog, admission: Admission, effect: Effect) -> Mapping[str, WhereValue]:
    """The request's own values, of parameters that every shape and every match binds."""
    values = literal_values(admission.by_effect[effect.id], catalog.parameters(effect.id))
    return {name: _spelled(texts) for name, texts in values.items()}


def _spelled(texts: tuple[str, ...]) -> WhereValue:
    spelled = tuple({"is": text} if "*" in text else text for text in texts)
    return spelled[0] if len(spelled) == 1 else spelled
