"""What a task's commands find beside the system: this project's Python, and the packages of a requirements file."""

from bench.environments.environments import TARGET, Environments, prepared_digest
from bench.environments.model import SYSTEM_PATH, EnvironmentSource, OpenedEnvironment
from bench.environments.prepare import PreparedEnvironment, prepare_environments

__all__ = [
    "SYSTEM_PATH",
    "TARGET",
    "EnvironmentSource",
    "Environments",
    "OpenedEnvironment",
    "PreparedEnvironment",
    "prepare_environments",
    "prepared_digest",
]
