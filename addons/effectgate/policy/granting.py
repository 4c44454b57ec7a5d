"""From `grants.yaml` to grants: entries checked against the catalogue, lowered under their ceiling, or clipped with a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from effectgate.policy.document import Document
from effectgate.policy.effect import Effect
from effectgate.policy.fault import Fault, FaultsError
from effectgate.policy.grant import (
    Cannot,
    EffectIndex,
    Grant,
    GrantEntry,
    Limits,
    UnknownEffectError,
    by_effect,
    sealed_grant,
)
from effectgate.policy.grants_draft import AgentDraft, EntryDraft, read_agents
from effectgate.policy.grants_file import AgentTable, EntryTable
from effectgate.policy.lattice import Ceiling, Profile
from effectgate.policy.schema import near


def grants_of(
    document: Document, catalog: EffectIndex, ceilings: Mapping[str, Ceiling], now: datetime
) -> Mapping[str, Grant]:
    """The grant of every agent, by principal. `now` only tells whether an `observe:` still runs; expiry is for the decision.

    Raises FaultsError with every fault of the file.
    """
    agents, faults = read_agents(document)
    grants: dict[str, Grant] = {}
    for agent in agents:
        faults += _entry_faults(document, agent, catalog)
        ceiling = ceilings.get(agent.ceiling)
        if ceiling is None:
            faults.append(_no_ceiling(document, agent, ceilings))
        if ceiling is None or agent.table is None:
            continue
        grant = _grant(agent.table, agent.entries, catalog, ceiling, now)
        faults += _empty_faults(document, agent, grant, ceilings, catalog)
        grants[grant.principal] = grant
    if faults:
        raise FaultsError(faults)
    return grants


def _no_ceiling(document: Document, agent: AgentDraft, ceilings: Mapping[str, Ceiling]) -> Fault:
    name = agent.ceiling
    meant = near(name, ceilings)
    fix = (
        f"write {meant}"
        if meant
        else f"write one of {', '.join(ceilings)}"
        if ceilings
        else "add effects/ceilings/NAME.toml"
    )
    return document.fault((*agent.path, "ceiling"), f"there is no ceiling {name}", fix)


def _entry_faults(document: Document, agent: AgentDraft, catalog: EffectIndex) -> Iterator[Fault]:
    for row in agent.entries:
        effect = catalog.effects.get(row.entry.effect)
        if effect is None:
            error = UnknownEffectError(row.entry.effect, catalog.effects)
            yield document.fault(row.path, error.message, error.fix)
        else:
            yield from _scope_faults(document, row, effect)


def _scope_faults(document: Document, row: EntryDraft, effect: Effect) -> Iterator[Fault]:
    for name in sorted(row.scoped):
        if effect.parameters is not None and name not in effect.parameters:
            known = ", ".join(sorted(effect.parameters))
            fix = f"narrow it by {known}" if known else "leave the where out"
            message = f"not every shape of {effect.id} binds {name}"
            yield document.fault((*row.path, "where", name), message, fix)
    for name in sorted(effect.tenant - row.scoped):
        message = f"{effect.id} reaches anyone's account unless its tenant parameter {name} is scoped"
        yield document.fault(row.path, message, f'add where: {{{name}: YOURS}}, or "*" for all')


def _grant(
    agent: AgentTable, rows: tuple[EntryDraft, ...], catalog: EffectIndex, ceiling: Ceiling, now: datetime
) -> Grant:
    entries: list[GrantEntry] = []
    cannot: list[Cannot] = []
    for entry in (row.entry for row in rows):
        effect = catalog.effects.get(entry.effect)
        if effect is None:
            continue
        reason = ceiling.admits(effect) or _unsealed(agent, entry, effect, catalog)
        if reason:
            cannot.append(Cannot(effect.id, reason))
        else:
            entries.append(_entry(agent, entry, ceiling.lower(effect)))
    return sealed_grant(_with_terms(agent, entries, cannot, ceiling, now), catalog)


def _unsealed(agent: AgentTable, entry: EntryTable, effect: Effect, catalog: EffectIndex) -> str:
    """Why a seal does not hold: an entry's own is to its effect, an agent's is to the catalogue and covers the other entries."""
    if entry.sealed is not None:
        changed, what = entry.sealed != effect.digest, "the effect"
    else:
        changed, what = agent.sealed is not None and agent.sealed != catalog.digest, "the catalogue"
    return f"{what} has changed since the grant was sealed; read it again and seal it anew" if changed else ""


def _entry(agent: AgentTable, entry: EntryTable, profile: Profile) -> GrantEntry:
    where = {name: tuple(values) for name, values in entry.where.items()}
    return GrantEntry(entry.effect, where, frozenset(entry.credential or agent.credential), profile)


def _with_terms(
    agent: AgentTable, entries: list[GrantEntry], cannot: list[Cannot], ceiling: Ceiling, now: datetime
) -> Grant:
    limits, observe = agent.limits, agent.observe
    return Grant(
        principal=agent.name,
        entries=by_effect(entries),
        cannot=tuple(cannot),
        ceiling=ceiling,
        expires=agent.expires,
        limits=Limits(limits.requests, limits.upload_bytes, limits.per) if limits else None,
        escalation=agent.escalation,
        observe=observe.until if observe and observe.until > now else None,
        goal=agent.goal,
    )


def _empty_faults(
    document: Document, agent: AgentDraft, grant: Grant, ceilings: Mapping[str, Ceiling], catalog: EffectIndex
) -> Iterator[Fault]:
    """A grant that ends empty is a mistake, unless it only observes, or its seals say that it needs a second look."""
    path = (*agent.path, "effects")
    if not grant.empty or grant.observe or not agent.whole:
        return
    if not agent.entries:
        yield document.fault(
            path, f"the grant of {grant.principal} lists no effect", "list ids of `effectgate packs list`"
        )
        return
    effects = [e for row in agent.entries if (e := catalog.effects.get(row.entry.effect)) is not None]
    if any(not grant.ceiling.admits(effect) for effect in effects) or len(effects) < len(agent.entries):
        return
    message = f"nothing is left of the grant of {grant.principal}: {grant.cannot[0].effect}: {grant.cannot[0].reason}"
    able = [name for name, ceiling in ceilings.items() if all(not ceiling.admits(effect) for effect in effects)]
    yield document.fault(path, message, f"write ceiling: {able[0]}" if able else "choose effects within the ceiling")
