"""The proposer itself: evidence in, one paid session, its answer out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bench.config import Config, ProposerConfig
from evolve.errors import ProposalError
from evolve.propose.agent.briefing import proposal_prompt
from evolve.propose.agent.bundle import Bounds, make_bundle
from evolve.propose.agent.judging import proposal_of
from evolve.propose.evidence import Extent
from evolve.propose.protocol import Ask, Proposal, Setting

_COUNT = {"type": "integer", "minimum": 0}


class _Options(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    prompt: str = "prompts/propose.md"
    timeout: float | None = None
    rows: int = 12
    row_transcripts: int = 2
    transcripts: int = 24
    learnings: int = 40
    proposals: int = 3
    file_kb: int = 256
    bundle_kb: int = 2048


class AgentProposer:
    """Asks a coding agent. A generation asks once: an answer that is there is never paid again."""

    def __init__(self, options: _Options) -> None:
        self._options = options
        self.prompt = options.prompt

    def propose(self, setting: Setting) -> Proposal | None:
        """What the session proposes. ProposalFailed if it left nothing that can be measured, or broke."""
        desk = setting.desk
        if desk is None:
            raise ProposalError("proposer `agent` works in a run of `evolve` only")
        return proposal_of(desk.recall() or desk.ask(self._ask(setting)), setting)

    def _ask(self, setting: Setting) -> Ask:
        desk, options = setting.desk, self._options
        if desk is None:
            raise ProposalError("proposer `agent` works in a run of `evolve` only")
        extent = Extent(
            rows=options.rows,
            row_transcripts=options.row_transcripts,
            transcripts=options.transcripts,
            learnings=options.learnings,
            proposals=options.proposals,
        )
        bounds = Bounds(file=options.file_kb << 10, bundle=options.bundle_kb << 10)
        bundle = make_bundle(desk.evidence(extent), bounds)
        incumbents = {
            f"{setting.specs[name].root}/{name}/{path}": content
            for name, skill in setting.incumbents.items()
            for path, content in skill.files.items()
        }
        markdown = [path for path in incumbents if path.lower().endswith(".md")]
        return Ask(
            prompt=proposal_prompt(desk.prompt, bundle, markdown),
            incumbents=incumbents,
            evidence=bundle.files,
            trimmed=bundle.trimmed,
        )

    def sent(self, config: Config) -> Config:
        """The run's configuration with the agent, the model, the effort and the time of the proposing session."""
        proposing = config.proposer
        if proposing is None:
            return config
        agent, model = proposing.agent or config.agent, proposing.model or config.model
        if agent.name == "rulebook":
            raise ProposalError(
                "proposer `agent` needs a coding agent, and agent=rulebook only follows its rules\n"
                "  choose one, as agent@proposer.agent=claude_code with model@proposer.model=claude_opus_5"
            )
        effort = proposing.effort or None
        return msgspec.structs.replace(
            config, agent=agent, model=model, effort=effort, timeout=self._options.timeout or config.timeout
        )


class _AgentFactory:
    """Makes the proposer from its limits."""

    options_schema: Mapping[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "prompt": {
                "type": "string",
                "minLength": 1,
                "description": "The prompt file of the session, found as those of arms are.",
            },
            "timeout": {
                "type": ["number", "null"],
                "exclusiveMinimum": 0,
                "description": "The seconds that the session may take; null is the run's timeout.",
            },
            "rows": {**_COUNT, "description": "The most measured cells that it is shown."},
            "row_transcripts": {**_COUNT, "description": "The most transcripts of one cell."},
            "transcripts": {**_COUNT, "description": "The most transcripts of all cells together."},
            "learnings": {**_COUNT, "description": "The most notes of the queue, the last ones."},
            "proposals": {**_COUNT, "description": "The most proposals that lost on these skills."},
            "file_kb": {
                "type": "integer",
                "minimum": 32,
                "description": "The most KiB of one file of evidence; shortened to 32 where all are too large.",
            },
            "bundle_kb": {
                "type": "integer",
                "minimum": 64,
                "description": "The most KiB of all evidence together.",
            },
        },
    }

    def create(self, config: ProposerConfig, root: Path) -> AgentProposer:  # noqa: ARG002 - the protocol's
        return AgentProposer(msgspec.convert(config.options, _Options))


AGENT = _AgentFactory()
