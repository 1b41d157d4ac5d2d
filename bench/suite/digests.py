"""The digests of a task and a suite: what they are, not what their files are called or where they lie."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from bench.digest import digest_bytes, digest_json
from bench.suite.model import Asset, CommandOracle, Environment, RepositorySource, Source, Task


class TaskDigests(Struct, frozen=True, kw_only=True):
    """What a row's provenance says of its task. `oracle_command` is None for a review; `dependencies` covers
    all that its commands find beside the working copy: mounted trees, the environment, derived assets.
    """

    prompt: str
    setup: str
    verify: str
    oracle: str
    oracle_command: str | None
    assets: str
    dependencies: str


def task_digests(task: Task) -> TaskDigests:
    """The digests of everything a task holds but its source and change, which a template's digest covers."""
    return TaskDigests(
        prompt=digest_bytes(task.prompt.encode()),
        setup=digest_bytes(task.setup.encode()),
        verify=digest_bytes(task.verify.encode()),
        oracle=task.oracle.digest,
        oracle_command=task.oracle.command_digest if isinstance(task.oracle, CommandOracle) else None,
        assets=_assets_digest(task.assets),
        dependencies=_surroundings_digest(task),
    )


def task_digest(task: Task) -> str:
    """Digest over the content of one task, as the suite's covers it: its solutions are no part of it."""
    return digest_json(_content(task))


def frame_digest(task: Task) -> str:
    """Digest of a task without its prompt, its hidden oracle and what lies around its working copy."""
    digests = task_digests(task)
    rest = {"setup": digests.setup, "verify": digests.verify, "assets": digests.assets}
    return digest_json({**_content(task), "digests": rest})


def environment_digest(environment: Environment) -> str:
    """Digest of what a task asks of its environment; the interpreter itself is the host's."""
    requirements = environment.requirements
    pinned = None if requirements is None else digest_bytes(requirements)
    return digest_json([environment.python, pinned])


def suite_digest(tasks: Sequence[Task]) -> str:
    """Digest over the content of all tasks; their order does not matter."""
    return digest_json([_content(task) for task in sorted(tasks, key=lambda task: task.id)])


def _content(task: Task) -> dict[str, Any]:
    return {
        "id": task.id,
        "class": task.class_,
        "split": task.split,
        "critical": task.critical,
        "expensive": task.expensive,
        "source": _source_digest(task.source),
        "change": digest_bytes(task.change) if isinstance(task.change, bytes) else task.change,
        "digests": task_digests(task),
    }


def _source_digest(source: Source) -> dict[str, str]:
    return {"commit": source.commit} if isinstance(source, RepositorySource) else {"tree": source.digest}


def _surroundings_digest(task: Task) -> str:
    derived = sorted((each.name, each.command, each.target) for each in task.derived)
    return digest_json([_assets_digest(task.dependencies), environment_digest(task.environment), derived])


def _assets_digest(assets: Sequence[Asset]) -> str:
    return digest_json(sorted((asset.target, asset.digest) for asset in assets))
