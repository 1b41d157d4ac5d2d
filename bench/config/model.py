"""The frozen configuration: what one run depends on, as plain values."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, field

Role = Literal["incumbent", "candidate", "comparator", "control"]
SessionKind = Literal["review", "plan", "work"]


class SkillSpec(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where a skill lives: `root` holds the folder of the skill's name; `mirrors` are kept equal to it."""

    root: str
    mirrors: tuple[str, ...] = ()


class SuiteConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which suite is measured. `path` is relative to the project's root; `prepare` is for `bench prepare`."""

    name: str
    path: str
    learnings: str | None = None
    prepare: dict[str, Any] | None = None


class AgentConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which agent works in the cells; `options` belong to the agent and have its own schema."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)


class ModelConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which model the agent calls, and what the gateway asks for it; `id` is null for an agent that calls none.

    `upstream` is null where no gateway leads to it. `key` names an environment variable, as secret://env/NAME;
    `efforts` are those that the provider honours, null if nobody knows; `context` and `max_output` are in tokens.
    """

    name: str
    id: str | None
    provider: str | None = None
    upstream: Literal["anthropic", "openai", "openai_compatible", "scripted", "replay"] | None = None
    base_url: str | None = None
    key: str | None = None
    script: str | None = None
    cassettes: str | None = None
    record: bool = True
    requests_per_minute: float | None = None
    efforts: tuple[str, ...] | None = None
    context: int | None = None
    max_output: int | None = None


class SessionSpec(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One session of an arm. `boundary` holds the glob patterns of paths that it may change, `skills` those of
    the arm's skills that it must use (none: all of them).
    """

    kind: SessionKind
    prompt: str
    order: int = 1
    boundary: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()


class FolderTool(
    Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag="folder", tag_field="kind"
):
    """A read-only file or folder that an arm's sessions see: `source` of the project, shown at `target`."""

    source: str
    target: str


class DerivedTool(
    Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag="derived", tag_field="kind"
):
    """A task's derived asset of this name, where a task declares it."""

    asset: str


class ServerTool(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag="mcp", tag_field="kind"):
    """A stdio MCP server that runs inside the sandbox: the file `program` of the project, shown at `target`.
    `python` runs it with this project's interpreter.
    """

    program: str
    target: str
    arguments: tuple[str, ...] = ()
    python: bool = False


Tool = FolderTool | DerivedTool | ServerTool


class ArmSpec(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A way of working under test. `family` is a folder of skills used instead of the project's own."""

    role: Role
    sessions: dict[str, SessionSpec]
    candidate_of: str | None = None
    skills: tuple[str, ...] = ()
    family: str | None = None
    tools: dict[str, Tool] = field(default_factory=dict)

    def ordered_sessions(self) -> tuple[tuple[str, SessionSpec], ...]:
        """The sessions with their names, by `order`, then name."""
        return tuple(sorted(self.sessions.items(), key=lambda item: (item[1].order, item[0])))


class LimitsConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one process tree may use; null is no limit."""

    memory_mb: int | None
    processes: int | None
    file_mb: int | None
    open_files: int | None


class SandboxConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a command is confined. `workspace` chooses how private working copies are made."""

    name: str
    workspace: Literal["auto", "overlay", "reflink", "copy"]
    scratch: str
    limits: LimitsConfig
    accept_no_containment: bool
    options: dict[str, Any] = field(default_factory=dict)


class ReuseConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which earlier rows may stand for cells: those of the `previous` generation, of a run, or `none`.

    `canaries` is the share of reusable cells that is measured again; `max_age_days` counts from the first
    measurement.
    """

    source: str = field(name="from")
    canaries: float
    max_age_days: float


class ExecutorConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What runs the cells."""

    name: Literal["local"]


class CellBudget(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The most that the sessions of one attempt of a cell may use; null is no limit."""

    usd: float | None = None
    tokens: int | None = None


class CampaignBudget(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What all runs of a campaign may spend together; null is no limit."""

    usd: float | None = None
    cells: int | None = None
    sessions: int | None = None
    tokens: int | None = None


class BudgetConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a run may spend; null is no limit. `wall` is in seconds, `deadline` a time with its offset.

    `unpriced` is what each session of a model without a price counts as, in dollars; null refuses such a model.
    """

    usd: float | None = None
    cells: int | None = None
    sessions: int | None = None
    tokens: int | None = None
    wall: float | None = None
    deadline: str | None = None
    confirm: bool = True
    unpriced: float | None = None
    cell: CellBudget = CellBudget()
    campaign: CampaignBudget = CampaignBudget()


class ProposerConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What proposes a candidate. `unapplied` says what an earlier promotion that nobody applied does. The agent, model
    and effort are those of a proposer that pays a session; without them, those that are measured.
    """

    name: str
    queue: str | None
    unapplied: Literal["offer", "build_on", "ignore"]
    agent: AgentConfig | UnsetType | None = UNSET
    model: ModelConfig | UnsetType | None = UNSET
    effort: str | UnsetType | None = UNSET
    options: dict[str, Any] = field(default_factory=dict)


class PromotionConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which policy decides, on which split of the tasks. `certified` asks for a certificate of every task that is
    measured; unset in configurations from before there were certificates.
    """

    policy: str
    split: Literal["all", "train", "holdout"]
    certified: bool | UnsetType = UNSET
    options: dict[str, Any] = field(default_factory=dict)


class TaskFilter(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which tasks of the suite are measured: glob patterns that must all match."""

    id: str
    class_: str = field(name="class")
    split: str


class Config(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything a run depends on that a person chose. `proposer` and `promotion` are null for `bench`."""

    name: str
    campaign: str | None
    effort: str | None
    repeats: int
    generations: int
    workers: int
    cpu_slots: int
    seed: int
    retries: int
    timeout: float
    breaker: int
    include_expensive: bool
    tasks: TaskFilter
    skills: dict[str, SkillSpec]
    suite: SuiteConfig
    agent: AgentConfig
    model: ModelConfig
    arms: dict[str, ArmSpec]
    sandbox: SandboxConfig
    reuse: ReuseConfig
    executor: ExecutorConfig
    budget: BudgetConfig
    proposer: ProposerConfig | None
    promotion: PromotionConfig | None
