"""The configured agent, ready to be driven."""

from pathlib import Path

from bench.agents.protocol import Agent, AgentFactory
from bench.config import AgentConfig
from bench.extensions import load_extension


def create_agent(config: AgentConfig, root: Path) -> Agent:
    """The agent that `config` names. AgentError or ExtensionError say what is missing."""
    factory: AgentFactory = load_extension("agents", config.name)
    return factory.create(config, root)
