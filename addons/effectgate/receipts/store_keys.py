"""Keys of an installation: the Ed25519 signing key, the HMAC key, and the public keys that `verify` trusts (design.md section 5)."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from effectgate.receipts.record import Check
from effectgate.receipts.store import StateModeError, StoreError
from effectgate.receipts.store_file import FILE_NAME, holds_receipts, private_directory

SIGNING_KEY: Final = "receipts.key"
INSTALLATION_KEY: Final = "installation.key"
TRUST_FILE: Final = "receipt-trust.json"


class TrustError(Exception):
    """A trust file that cannot be used. The message names the file, the key and the fix."""


@dataclass(frozen=True)
class SigningKey:
    """The private key of this installation; `new` only in the process that made it."""

    private: Ed25519PrivateKey
    new: bool = False

    @cached_property
    def public_hex(self) -> str:
        """The public key, 64 hex digits."""
        return self.private.public_key().public_bytes_raw().hex()

    @cached_property
    def key_id(self) -> str:
        """A name made from the public key."""
        return key_id_of(self.public_hex)

    def sign(self, message: bytes) -> bytes:
        """The Ed25519 signature of `message`, 64 bytes."""
        return self.private.sign(message)


def key_id_of(public_hex: str) -> str:
    """`ed25519-` and 16 hex digits of the SHA-256 of the key."""
    return "ed25519-" + hashlib.sha256(bytes.fromhex(public_hex)).hexdigest()[:16]


def signing_key(state: Path) -> SigningKey:
    """The signing key under `state`, made at first. Raises StoreError, StateModeError."""
    seed, new = _secret(state, SIGNING_KEY)
    return SigningKey(Ed25519PrivateKey.from_private_bytes(seed), new)


def installation_key(state: Path) -> bytes:
    """The 32-byte HMAC key under `state`, made at first. Raises StoreError, StateModeError."""
    return _secret(state, INSTALLATION_KEY)[0]


def _secret(state: Path, name: str) -> tuple[bytes, bool]:
    """The 32 bytes of a key file (64 hex digits), and whether it was made just now."""
    private_directory(state)
    path = state / name
    new = not path.exists()
    if new:
        _require_no_receipts(path)
        _write_new(path, secrets.token_hex(32).encode() + b"\n")
    _require_private(path)
    try:
        secret = bytes.fromhex(path.read_text("ascii"))
    except (OSError, ValueError) as fault:
        raise StoreError(f"{path} cannot be read as 64 hex digits; restore it from your backup") from fault
    if len(secret) != 32:
        raise StoreError(f"{path} holds {len(secret)} bytes, not 32; restore it from your backup")
    return secret, new


def _require_no_receipts(path: Path) -> None:
    """A key that has gone is not replaced beside what it made: the old receipts would no longer be told apart from forged ones."""
    store = path.with_name(FILE_NAME)
    if holds_receipts(store):
        raise StoreError(
            f"{path} is missing, and {store} holds receipts made with it; restore it from your backup, "
            f"or move {store} away to begin a new store"
        )


def _require_private(path: Path) -> None:
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        raise StateModeError(f"{path} has mode {mode:04o}, others could read the key; chmod 600 {path}")


def _write_new(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file whole or not at all, never over one that another process has made meanwhile."""
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        os.link(scratch, path)
    except FileExistsError:
        pass
    except OSError as fault:
        raise StoreError(f"{path} cannot be written: {fault.strerror}") from fault
    finally:
        scratch.unlink(missing_ok=True)


def publish(trust: Path, key: SigningKey) -> None:
    """List the public key in the trust file: at first start, or when the key has just been made. Raises TrustError where a key is unknown to it."""
    entries = _entries(trust) if trust.exists() else []
    if any(entry["key_id"] == key.key_id for entry in entries):
        return
    if entries and not key.new:
        raise TrustError(
            f"{trust} does not list {key.key_id}, the key that signs here; restore either from your backup"
        )
    entries.append({"key_id": key.key_id, "algorithm": "ed25519", "public_key": key.public_hex})
    text = json.dumps({"version": 1, "keys": entries}, indent=2) + "\n"
    scratch = trust.with_name(f".{trust.name}.{secrets.token_hex(4)}")
    try:
        trust.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_text(text)
        scratch.replace(trust)
    except OSError as fault:
        raise TrustError(f"{trust} cannot be written: {fault.strerror}") from fault


def read_trust(trust: Path) -> dict[str, Check]:
    """The keys that `verify` trusts, by key id. Raises TrustError."""
    return {entry["key_id"]: checker(entry["public_key"]) for entry in _entries(trust)}


def checker(public_hex: str) -> Check:
    """A function that says whether this key made a signature."""
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_hex))

    def check(signature: bytes, message: bytes) -> bool:
        try:
            public.verify(signature, message)
        except InvalidSignature:
            return False
        return True

    return check


def _entries(trust: Path) -> list[dict[str, str]]:
    try:
        content = json.loads(trust.read_text("utf-8"))
        entries = [
            {"key_id": key_id_of(entry["public_key"]), "algorithm": "ed25519", "public_key": entry["public_key"]}
            for entry in content["keys"]
        ]
        for entry in entries:
            checker(entry["public_key"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
        raise TrustError(f"{trust} is not a trust file ({fault}); restore it, or name another with --trust") from fault
    return entries
