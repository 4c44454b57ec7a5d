"""A process that writes receipts until it is killed; prints the id of each once it is durable. Run as `python writer_process.py STATE`."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from scene import KEY, draft

from effectgate.receipts.store_sqlite import SqliteStore


def write_for_ever(store: SqliteStore, first: int) -> None:
    number = first
    while True:
        print(store.append(draft(number, "ALLOW")).result().receipt_id, flush=True)
        number += 100


def main() -> None:
    store = SqliteStore(Path(sys.argv[1]), KEY)
    for first in range(8):
        threading.Thread(target=write_for_ever, args=(store, first)).start()


if __name__ == "__main__":
    main()
