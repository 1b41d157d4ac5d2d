"""The configured proposer."""

from pathlib import Path

from bench.config import ProposerConfig
from bench.extensions import load_extension
from evolve.propose.protocol import Proposer, ProposerFactory


def create_proposer(config: ProposerConfig, root: Path) -> Proposer:
    """The proposer that `config` names. ProposalError or ExtensionError say what is missing."""
    factory: ProposerFactory = load_extension("proposers", config.name)
    return factory.create(config, root)
