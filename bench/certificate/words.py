"""A certificate, for people. Pure."""

from bench.certificate.judging import ended, is_caught
from bench.certificate.model import SuiteCertificate, TaskCertificate
from bench.text import printable


def task_lines(found: TaskCertificate) -> list[str]:
    """One line for a task, and one for each thing that there is to say of it."""
    kinds = ("wrong", "mutated", "tampering")
    counts = []
    for kind in kinds:
        tried = [each for each in found.attempts if each.worth == kind]
        if tried:
            counts.append(f"{kind} {sum(map(is_caught, tried))} of {len(tried)} caught")
    reference = next((each for each in found.attempts if each.worth == "reference"), None)
    right = f"reference {ended(reference.tries[0])}" if reference else "no reference"
    head = f"{found.task}: {'certified' if found.certified else 'NOT certified'} ({right}; {', '.join(counts)}; {found.seconds:.1f} s)"
    more = [f"  {each}" for each in found.problems] + [f"  note: {each}" for each in found.notes]
    return [printable(line) for line in (head, *more)]


def closing_lines(found: SuiteCertificate, path: str) -> list[str]:
    """How many tasks are certified, and where that stands."""
    good = sum(each.certified for each in found.tasks)
    return [
        f"suite {found.suite}: {good} of {len(found.tasks)} tasks are certified",
        f"certificate: {path}  ({found.digest[:12]})",
        *(["next: let the policy ask for it: evolve promotion.certified=true"] if found.certified else []),
    ]
