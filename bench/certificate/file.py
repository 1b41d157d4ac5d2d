"""The certificate's file, beside the suite that it is about."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import structs

from bench.certificate.model import SuiteCertificate, TaskCertificate
from bench.certificate.trying import solutions_digest
from bench.digest import canonical_json
from bench.disk import read_regular, write_whole
from bench.errors import SuiteError
from bench.harness import read_harness
from bench.suite import CERTIFICATE, Suite, Task, task_digest
from bench.sweep import Ground

_MOST_NAMED = 5
_MOST_BYTES = 64 << 20


def harness_digest() -> str:
    """The program that certificates hold for, whatever agent is measured with it."""
    return read_harness().digest


def write_certificate(suite: Suite, made: SuiteCertificate) -> SuiteCertificate:
    """Write it beside the suite, with what an earlier one says of tasks that were not tried now; what was written."""
    known = {each.task: each for each in made.tasks}
    before = _earlier(suite, made)
    tasks = [known.get(task.id) or before.get(task.id) for task in suite.tasks]
    whole = structs.replace(made, tasks=tuple(task for task in tasks if task is not None))
    whole = structs.replace(whole, digest=whole.content())
    write_whole(place(suite), msgspec.json.format(canonical_json(whole), indent=1) + b"\n")
    return whole


def place(suite: Suite) -> Path:
    """Where a suite's certificate lies."""
    return suite.folder / CERTIFICATE


def read_certificate(suite: Suite) -> SuiteCertificate:
    """The certificate of a suite. SuiteError if there is none, or none that can be relied on."""
    path = place(suite)
    try:
        found = msgspec.json.decode(read_regular(path, _MOST_BYTES), type=SuiteCertificate)
    except FileNotFoundError as error:
        raise SuiteError(f"the suite {suite.name} has no certificate") from error
    except (OSError, msgspec.DecodeError) as error:
        raise SuiteError(f"{path} is no certificate: {error}") from error
    if found.digest != found.content():
        raise SuiteError(f"{path} was changed after it was written")
    return found


def require_certificate(ground: Ground) -> None:
    """SuiteError unless a certificate holds for every task that is measured, where the promotion policy asks for it."""
    promotion = ground.config.promotion
    if promotion is None or promotion.certified is not True:
        return
    wrong = _wrong(ground)
    if wrong is not None:
        raise SuiteError(
            f"promotion.certified: {wrong}\n  run `bench validate {ground.config.suite.name}`, "
            "or measure without: promotion.certified=false"
        )


def _wrong(ground: Ground) -> str | None:
    """Why the suite's certificate does not do; None if it does."""
    try:
        found = read_certificate(ground.suite)
    except SuiteError as error:
        return str(error)
    lacking = [*_lacking(found, ground)]
    more = [f"and {len(lacking) - _MOST_NAMED} more"] if len(lacking) > _MOST_NAMED else []
    return "\n  ".join(["not every task is certified:", *lacking[:_MOST_NAMED], *more]) if lacking else None


def _lacking(found: SuiteCertificate, ground: Ground) -> Sequence[str]:
    """Why a certificate does not hold for what is to be measured."""
    if found.harness != harness_digest():
        return ["it was made with another version of this program, or of what it is built on"]
    if found.sandbox != ground.config.sandbox.name:
        return [f"it was made in the sandbox {found.sandbox}, not in {ground.config.sandbox.name}"]
    known = {each.task: each for each in found.tasks}
    said = ((task.id, _said(task, known.get(task.id))) for task in ground.tasks)
    return [f"{task}: {why}" for task, why in said if why is not None]


def _said(task: Task, found: TaskCertificate | None) -> str | None:
    if found is None:
        return "it was not tried"
    if (found.digest, found.solutions) != (task_digest(task), solutions_digest(task)):
        return "it was changed since"
    return None if found.certified else found.problems[0]


def _earlier(suite: Suite, made: SuiteCertificate) -> dict[str, TaskCertificate]:
    """What an earlier certificate says, as far as it still holds."""
    try:
        found = read_certificate(suite)
    except SuiteError:
        return {}
    if (found.harness, found.sandbox) != (made.harness, made.sandbox):
        return {}
    digests = {task.id: (task_digest(task), solutions_digest(task)) for task in suite.tasks}
    return {
        each.task: each for each in found.tasks if digests.get(each.task) == (each.digest, each.solutions)
    }
