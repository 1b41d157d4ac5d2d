"""What all cells of a plan depend on, sealed with it: also of those that nothing is known of yet."""

from collections.abc import Iterator, Mapping

from msgspec import structs

from bench.arms import Workbench, provenance
from bench.digest import digest_json
from bench.sweep.model import Plan

TEMPLATE = ("base_commit", "sanitized_commit", "template")


def foundation(bench: Workbench, plan: Plan) -> dict[str, str]:
    """A digest for each field of a row's provenance, over all tasks and arms of the plan. What only a task's built
    template tells is left out.
    """
    pairs = dict.fromkeys((cell.task, cell.arm) for cell in plan.cells)
    known = {
        f"{task}/{arm}": structs.asdict(provenance(bench, bench.arms[arm], bench.tasks[task], None))
        for task, arm in pairs
    }
    names = next(iter(known.values()), {}).keys()
    return {
        name: digest_json({pair: fields[name] for pair, fields in known.items()})
        for name in sorted(names)
        if name not in TEMPLATE
    }


def differences(then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """The fields that are no longer the same; none where the plan was sealed without them."""
    return (name for name, digest in then.items() if now.get(name) != digest)
