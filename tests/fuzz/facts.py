"""What must hold for any bytes at all, from request facts to the decision."""

from __future__ import annotations

from effectgate.policy.authority import parse_authority
from effectgate.policy.facts import NO_BODY, Body, EnvelopeError, RequestFacts, facts_from_url, read_facts
from fuzz import naive, realm
from fuzz.raw import PSEUDO, Raw
from policy.build import ask


def check(data: bytes) -> None:
    """Raises AssertionError where a law is broken, and whatever else the product raises."""
    raw = Raw.parse(data)
    facts = read(raw)
    fault = naive.fault(raw)
    if facts is None:
        assert fault or naive.large(raw), f"refused, and nothing is wrong with it: {raw}"
        return
    assert not fault, f"{fault}: {raw}"
    again = written(facts)
    assert read(again) == facts, f"facts -> bytes -> other facts: {raw} {again}"
    assert from_url(again) == facts, f"another answer from its URL: {raw} {again}"
    check_decision(raw, facts)


def read(raw: Raw) -> RequestFacts | None:
    """The product's facts, or None where it refuses."""
    try:
        where = parse_authority(raw.where.decode("latin-1"), naive.PORTS.get(raw.scheme))
        return read_facts(
            method=raw.method,
            scheme=raw.scheme,
            host=where.host,
            port=where.port,
            target=raw.target,
            fields=raw.headers,
            body=Body(True, raw.body) if raw.body else NO_BODY,
            authority=raw.pseudo,
        )
    except EnvelopeError:
        return None


def written(facts: RequestFacts) -> Raw:
    """The request that these facts are of, in the normal spelling of its host."""
    host = f"[{facts.host}]" if ":" in facts.host else facts.host
    where = f"{host}:{facts.port}".encode()
    fields = tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in facts.headers)
    if not facts.header("host"):
        fields = ((PSEUDO, where), *fields)
    target = facts.path + ("" if facts.query is None else f"?{facts.query}")
    return Raw(facts.method.encode(), facts.scheme, where, target.encode(), fields, facts.body.content or b"")


def from_url(raw: Raw) -> RequestFacts:
    """The facts of the same request as a person writes it, which `explain` and the API read."""
    url = f"{raw.scheme}://{raw.where.decode()}{raw.target.decode()}"
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in raw.headers]
    return facts_from_url(raw.method.decode(), url, headers, raw.body or None)


def check_decision(raw: Raw, facts: RequestFacts) -> None:
    """What is admitted is meant by the grant, and what is plainly meant is admitted."""
    verdict = ask(realm.CATALOG, realm.GRANT, facts)
    if verdict.allowed:
        assert realm.permitted(raw), f"admitted by {verdict.effect}: {raw}"
    elif realm.plain(raw):
        raise AssertionError(f"refused: {verdict.reason} {raw}")
