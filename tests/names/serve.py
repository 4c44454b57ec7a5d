"""`effectgate serve` on another host's naming: the files that EFFECTGATE_TEST_HOSTS and EFFECTGATE_TEST_RESOLV_CONF name, and the
nameserver's port EFFECTGATE_TEST_DNS_PORT. The product itself has no such switch; what it does with the real files is shown in a
namespace (test_naming_namespace.py)."""

from __future__ import annotations

import os
from pathlib import Path

from effectgate.cli import main
from effectgate.proxy import resolver

if __name__ == "__main__":
    keywords = resolver.HostResolver.__init__.__kwdefaults__
    keywords["hosts"] = Path(os.environ["EFFECTGATE_TEST_HOSTS"])
    keywords["configuration"] = Path(os.environ["EFFECTGATE_TEST_RESOLV_CONF"])
    keywords["port"] = int(os.environ["EFFECTGATE_TEST_DNS_PORT"])
    main()
