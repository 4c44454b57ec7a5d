"""Drafts of packs from vendors' own descriptions (docs/packs.md, "Importing").

Each step is a function of values: `botocore`, `discovery` and `openapi` read operations, `access` grades them, `grouping` makes effects
of them, `titles` says what they are, `toml` writes them down; `sources` alone reads files.
"""
