"""Whether an installed program starts in the sandbox, and is what it claims to be. No part of it runs outside."""

from pathlib import Path

from bench.agents.installed.find import version_said
from bench.agents.installed.model import Installed
from bench.cancellation import Cancellation
from bench.errors import AgentError
from bench.sandbox import Command, Sandbox

_PATIENCE = 120.0


def refuse_broken(installed: Installed, sandbox: Sandbox) -> None:
    """AgentError if the program does not say its version when it is started in `sandbox`, without any network."""
    layout = sandbox.layout(Path("/nowhere"))
    start, mounts = installed.start(layout)
    command = Command(
        argv=(*start, "--version"),
        directory=layout.temporary if layout.contained else "/",
        environment={"PATH": "/usr/bin:/bin", "HOME": layout.temporary, "LANG": "C.UTF-8", "TERM": "dumb"},
        mounts=mounts,
        seconds=_PATIENCE,
    )
    with Cancellation() as cancellation:
        result = sandbox.run(command, cancellation)
    said = version_said(result.stdout.text() + result.stderr.text())  # pi says it on stderr
    if not result.succeeded:
        raise AgentError(f"{installed.name} is installed, but does not start in a sandbox {result.account()}")
    if said != installed.version:
        raise AgentError(
            f"{installed.name} was installed as {installed.version}, but says that it is {said}\n"
            "  the pin is wrong: please report it"
        )
