"""A command in namespaces of its own (Linux): what it may see of the file system, and a network whose only way out is the proxy.

ADR 0045 says why it is built so, docs/isolation.md what it holds against and what not.
"""

from effectgate.isolate.cell import Cell, Plan, built
from effectgate.isolate.errors import IsolationError
from effectgate.isolate.view import View

__all__ = ["Cell", "IsolationError", "Plan", "View", "built"]
