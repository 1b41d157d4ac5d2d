"""No confinement: a command runs as its user, with everything that the user can reach."""

import os
import secrets
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from bench.cancellation import Cancellation
from bench.config import SandboxConfig
from bench.digest import digest_json
from bench.measured import ProcessResult
from bench.sandbox.gated import Gated
from bench.sandbox.limits import Limiter, host_limiter
from bench.sandbox.outcome import result_of
from bench.sandbox.process import Launch, run_process
from bench.sandbox.process_tree import ProcessTree
from bench.sandbox.protocol import Command, Layout

# By this entry of their environment, the processes of a command are found wherever they went.
MARK = "INCUMBENT_CELL"

WITHOUT_CONTAINMENT = """\
sandbox=host confines nothing. A command of a cell can
  read every file that you can, among them the suite's labels and oracles, and your keys;
  change or delete every file that you can;
  use the network, and every program that you have logged in to;
  leave processes behind that hide from this program.
What is measured this way is never applied."""


class Host:
    """The sandbox `host`: limits, deadline and bounded output, but no containment. Mounts are ignored."""

    name = "host"
    contains = False

    def describe(self) -> Mapping[str, str]:
        """A version that changes when the way of running commands does."""
        return {"backend": self.name, "version": "1", "policy": digest_json("none")}

    def describe_limits(self) -> str:
        """What enforces limits here, for people."""
        return self._limiter.describe()

    def probe(self) -> None:
        """Nothing can be missing."""

    def can_layer(self, folder: Path) -> bool:  # noqa: ARG002 - nowhere
        """Nothing is mounted, so nothing is layered."""
        return False

    def layout(self, cell: Path) -> Layout:
        """The real folders of the cell."""
        return Layout(
            workspace=f"{cell}/workspace",
            home=f"{cell}/home",
            temporary=f"{cell}/temporary",
            output=f"{cell}/output",
            contained=False,
        )

    def run(
        self,
        command: Command,
        cancellation: Cancellation,
        observe: Callable[[bytes], None] | None = None,
    ) -> ProcessResult:
        """Run a command as it is. Its environment gets `MARK` in addition."""
        mark = secrets.token_hex(16)
        environment = {**command.environment, "PWD": command.directory, MARK: mark}
        gated = Gated(command.argv, environment, command.stdin)
        launch = Launch(
            argv=gated.argv,
            environment=environment,
            directory=command.directory,
            seconds=command.seconds,
            keep=command.keep,
            most_output=command.most_output,
            stdin=gated.stdin,
            inherit=command.inherit,
        )
        with self._limiter.begin(command.limits) as confinement:

            def own(pid: int) -> ProcessTree:
                confinement.admit(pid)  # nothing is sent to its input before, so the gate is still closed
                return ProcessTree(pid, f"{MARK}={mark}".encode(), confinement.members)

            finished = run_process(launch, own, cancellation, observe)
            return confinement.explain(result_of(gated.judge(finished)))

    @cached_property
    def _limiter(self) -> Limiter:
        return host_limiter(root=os.geteuid() == 0, own_users=False)


def containment_refusal(config: SandboxConfig, *, contains: bool, calls_model: bool) -> str | None:
    """Why an agent may not run in the sandbox that `config` names, or None if it may: one that calls a model does
    what the model says, so it runs uncontained only where that was accepted.
    """
    if contains or not calls_model or config.accept_no_containment:
        return None
    return (
        f"sandbox={config.name} does not contain an agent that calls a model\n"
        "  use sandbox=bubblewrap, or accept that it can read and change all that you can: "
        "sandbox.accept_no_containment=true"
    )
