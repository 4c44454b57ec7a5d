"""`effectgate receipts list|show|verify`: the records, and what can be proven of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from effectgate.cli.output import NO, CommandError, ConfigOption, JsonOption, print_json, print_table, printable

if TYPE_CHECKING:
    from effectgate.config import Settings

StoreOption = Annotated[Path | None, typer.Option("--store", metavar="FILE", help="Read this store file.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    receipts = typer.Typer(help="The signed, chained record of every decision.", no_args_is_help=True)
    receipts.command("list")(list_receipts)
    receipts.command("show")(show)
    receipts.command("verify")(verify)
    app.add_typer(receipts, name="receipts")


def list_receipts(
    count: Annotated[int, typer.Option("-n", "--count", min=1, help="How many, the latest last.")] = 20,
    store: StoreOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Print the latest receipts, one a line."""
    from effectgate.receipts.store_reading import reading

    with reading(_store(store, config)) as reader:
        receipts = [receipt for _, receipt in reader.latest(count)]
    if as_json:
        print_json(receipts)
        return
    print_table(("time", "receipt", "agent", "verdict", "reason or effect", "request"), map(_row, receipts))


def _row(receipt: dict[str, Any]) -> tuple[object, ...]:
    args, policy = (held if isinstance(held := receipt.get(name), dict) else {} for name in ("args", "policy"))
    why = receipt.get("reason_code") or policy.get("effect") or receipt.get("kind")
    request = f"{args.get('method', '')} {args.get('host', '')}{args.get('path', '')}".strip()
    if receipt.get("kind") == "completion":
        request = _ending(output if isinstance(output := receipt.get("output"), dict) else {})
    agent = args.get("principal") or receipt.get("principal", "")
    return receipt.get("timestamp"), receipt.get("receipt_id"), agent, receipt.get("verdict"), why, request


def _ending(output: dict[str, Any]) -> str:
    """How an allowed request ended; the whole of it is for `show`."""
    if not output.get("success"):
        return f"failed: {output.get('error') or 'aborted'}"
    sizes = f"{output.get('bytes_sent', 0)} bytes sent, {output.get('bytes_received', 0)} received"
    return f"{output.get('status')}, {sizes}, {output.get('duration_ms')} ms"


def show(
    receipt_id: Annotated[str, typer.Argument(metavar="ID", help="A receipt's id, or its beginning.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Print a receipt whole, and the completion that closes it."""
    from effectgate.receipts.store_reading import reading

    with reading(_store(store, config)) as reader:
        found = reader.find(receipt_id)
    if not found:
        raise CommandError(f"no receipt begins with {receipt_id}", "see `effectgate receipts list`", code=NO)
    if len(named := [receipt for receipt in found if str(receipt.get("receipt_id")).startswith(receipt_id)]) > 1:
        raise CommandError(f"{len(named)} receipts begin with {receipt_id!r}", "write more of the id", code=NO)
    if as_json:
        print_json(found)
        return
    for receipt in found:
        print_json(receipt)


def verify(
    store: StoreOption = None,
    trust: Annotated[Path | None, typer.Option("--trust", metavar="FILE", help="The public keys to trust.")] = None,
    anchor: Annotated[Path | None, typer.Option("--anchor", metavar="FILE", help="Heads kept elsewhere.")] = None,
    write_anchor: Annotated[
        Path | None, typer.Option("--write-anchor", metavar="FILE", help="Then keep the heads in this file.")
    ] = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Check every receipt, signature and chain. Exit 0 intact and trusted, 1 not, 2 usage."""
    from effectgate.config import load_settings
    from effectgate.receipts.head import anchor_text
    from effectgate.receipts.store_reading import verified_heads

    settings = load_settings(config)
    path = _store(store, config)
    report, heads = verified_heads(path, trust or _own_trust(settings), anchor)
    if write_anchor is not None:
        if not report.intact:
            raise CommandError(f"{path} is not intact, no anchor was written", "run without --write-anchor", code=NO)
        write_anchor.write_text(anchor_text(heads))
    if as_json:
        faults = [{"kind": fault.kind, "message": fault.message, "row": fault.seq} for fault in report.faults]
        summary = {"intact": report.intact, "trusted": report.trusted, "anchored": report.anchored}
        print_json({**summary, "receipts": report.receipts, "chains": report.chains, "faults": faults})
    else:
        print("\n".join(map(printable, report.lines())))
    return report.exit_code


def _store(option: Path | None, config: Path | None) -> Path:
    from effectgate.config import load_settings
    from effectgate.receipts.store_file import FILE_NAME

    return option or load_settings(config).state / FILE_NAME


def _own_trust(settings: Settings) -> Path | None:
    """The keys of this installation; never a key that lies beside the receipts."""
    own = settings.certs / "receipt-trust.json"
    return own if own.is_file() else None
