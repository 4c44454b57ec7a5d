"""The closed vocabularies of packs, grants and verdicts (design.md sections 1, 2 and 4)."""

from enum import IntEnum, StrEnum


class Risk(IntEnum):
    """How much harm an effect can do; the order is the order of the words."""

    READ = 0
    WRITE_LOCAL = 1
    EXECUTE = 2
    PUBLISH = 3
    MUTATE_REMOTE = 4
    DESTRUCTIVE = 5

    @property
    def word(self) -> str:
        """The spelling used in files and answers, such as ``mutate_remote``."""
        return self.name.lower()


class Level(IntEnum):
    """How far an operation is permitted; the lattice of operations is this chain, pointwise."""

    NEVER = 0
    LOW_RISK = 1
    ALWAYS = 2

    @property
    def word(self) -> str:
        """The spelling used in files, such as ``low_risk``."""
        return self.name.lower()


RISKS: dict[str, Risk] = {risk.word: risk for risk in Risk}
LEVELS: dict[str, Level] = {level.word: level for level in Level}

OPERATIONS: tuple[str, ...] = (
    "read_files",
    "write_files",
    "edit_files",
    "run_bash",
    "glob_search",
    "grep_search",
    "web_search",
    "web_fetch",
    "git_commit",
    "git_push",
    "create_pr",
    "manage_pods",
    "spawn_agent",
)

# An effect that reaches hosts must raise one of these: nothing else of the thirteen can open a connection.
NETWORK_OPERATIONS: frozenset[str] = frozenset({"web_fetch", "git_push", "create_pr", "run_bash"})

# Sink -> the operations that can produce it (design.md section 2). A shell can reach every sink, `web_fetch` those
# behind an HTTP API; reading and searching produce none, except that what is read may be a secret.
SINKS: dict[str, frozenset[str]] = {
    "workspace_write": frozenset({"write_files", "edit_files", "run_bash"}),
    "system_write": frozenset({"write_files", "edit_files", "run_bash"}),
    "bash_exec": frozenset({"run_bash"}),
    "http_egress": NETWORK_OPERATIONS | {"web_search", "manage_pods"},
    "git_commit": frozenset({"git_commit", "run_bash"}),
    "git_push": frozenset({"git_push", "create_pr", "run_bash"}),
    "pr_comment_write": frozenset({"create_pr", "web_fetch", "run_bash"}),
    "email_send": frozenset({"web_fetch", "run_bash"}),
    "memory_persist": frozenset({"write_files", "edit_files", "web_fetch", "spawn_agent", "run_bash"}),
    "agent_spawn": frozenset({"spawn_agent", "web_fetch", "run_bash"}),
    "mcp_write": frozenset({"web_fetch", "run_bash"}),
    "secret_read": frozenset({"read_files", "grep_search", "web_fetch", "manage_pods", "run_bash"}),
    "cloud_mutation": frozenset({"manage_pods", "web_fetch", "run_bash"}),
    "proposed_table_write": frozenset({"web_fetch", "run_bash"}),
    "verified_table_write": frozenset({"web_fetch", "run_bash"}),
    "search_index_write": frozenset({"web_fetch", "run_bash"}),
    "cache_write": frozenset({"write_files", "web_fetch", "run_bash"}),
    "ticket_write": frozenset({"create_pr", "web_fetch", "run_bash"}),
    "audit_log_append": frozenset({"write_files", "edit_files", "web_fetch", "run_bash"}),
}


class Decision(StrEnum):
    """The three verdicts."""

    ALLOW = "ALLOW"
    DENY = "DENY"
    ESCALATE = "ESCALATE"


class Reason(StrEnum):
    """Reason codes of the HELM registry that this product emits; ALLOW carries NONE."""

    NONE = ""
    INSUFFICIENT_PRIVILEGE = "INSUFFICIENT_PRIVILEGE"
    APPROVAL_REQUIRED = "APPROVAL_REQUIRED"
    DATA_EGRESS_BLOCKED = "DATA_EGRESS_BLOCKED"
    ENVELOPE_INVALID = "ENVELOPE_INVALID"
    SANDBOX_VIOLATION = "SANDBOX_VIOLATION"
    TEMPORAL_THROTTLE = "TEMPORAL_THROTTLE"
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"
    NO_POLICY_DEFINED = "NO_POLICY_DEFINED"
    PDP_ERROR = "PDP_ERROR"


# The HTTP status of a refusal by its reason (design.md section 4). TEMPORAL_THROTTLE is 429, or 431 where the header was too large.
STATUS: dict[Reason, int] = {
    Reason.INSUFFICIENT_PRIVILEGE: 403,
    Reason.APPROVAL_REQUIRED: 403,
    Reason.DATA_EGRESS_BLOCKED: 403,
    Reason.ENVELOPE_INVALID: 400,
    Reason.SANDBOX_VIOLATION: 403,
    Reason.TEMPORAL_THROTTLE: 429,
    Reason.BUDGET_EXCEEDED: 403,
    Reason.NO_POLICY_DEFINED: 403,
    Reason.PDP_ERROR: 503,
}
