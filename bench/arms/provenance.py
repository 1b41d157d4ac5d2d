"""What a row says of where it comes from."""

from bench.arms.model import Cell
from bench.arms.workbench import Arm, Workbench
from bench.digest import digest_json
from bench.results import Identity, Provenance
from bench.skills import combined_digest
from bench.suite import Task, task_digests
from bench.workspace import Template

NOT_BUILT = ""


def identity(bench: Workbench, cell: Cell, attempt: int) -> Identity:
    """The cell's name and who worked in it."""
    task = bench.tasks[cell.task]
    return Identity(
        task=task.id,
        task_class=task.class_,
        split=task.split,
        arm=cell.arm,
        role=cell.role,
        repeat=cell.repeat,
        generation=bench.generation,
        plan=bench.plan,
        attempt=attempt,
        agent=bench.agent.name,
        agent_version=bench.agent.version,
        model=bench.config.model.id,
        effort=bench.config.effort,
        seed=bench.config.seed,
    )


def provenance(bench: Workbench, arm: Arm, task: Task, template: Template | None) -> Provenance:
    """Digests of all that the measurement depends on; a template that could not be built leaves blanks."""
    digests = task_digests(task)
    return Provenance(
        base_commit=template.base_commit if template else NOT_BUILT,
        sanitized_commit=template.commit if template else NOT_BUILT,
        template=template.digest if template else NOT_BUILT,
        prompt=digest_json([digests.prompt, dict(arm.prompts)]),
        setup=digests.setup,
        verify=digests.verify,
        oracle=digests.oracle,
        oracle_command=digests.oracle_command,
        assets=digests.assets,
        dependencies=digests.dependencies,
        skill=combined_digest(arm.skills) if arm.skills else None,
        overlay=arm.overlay,
        plugin=combined_digest(arm.skills) if arm.spec.family else None,
        tools=arm.tools,
        agent=bench.agent.digest,
        harness=bench.harness,
        sandbox=digest_json(dict(bench.sandbox.describe())),
        configuration=arm.configuration,
    )
