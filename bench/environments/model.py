"""An environment as the commands of a cell find it."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from bench.sandbox import Mount
from bench.suite import Environment

SYSTEM_PATH = "/usr/bin:/bin"


class OpenedEnvironment(Struct, frozen=True):
    """What is mounted for a command, and the environment variables that replace those that it has anyway."""

    mounts: tuple[Mount, ...] = ()
    variables: Mapping[str, str] = {}


class EnvironmentSource(Protocol):
    """Where a cell gets what its task's commands find beside the system."""

    def open(self, environment: Environment) -> OpenedEnvironment: ...
