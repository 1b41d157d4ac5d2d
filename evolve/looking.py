"""What a policy that tests decides at the looks of a plan. Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import UNSET, Struct, UnsetType

from bench.arms import Cell, CellKey
from bench.results import Row
from bench.sweep import Look, LookRule, Plan, Standing, Stopping
from evolve.gate import Evidence, Policy, Stand, TestingPolicy

_WORDS: Mapping[Stand, str] = {
    "shown": "shown to be better",
    "survives": "better than the reused rows of its incumbent",
    "futile": "futile",
    "open": "open",
}


class GateLooks(Struct, frozen=True):
    """The rule for one plan: `evidence` makes of rows what the policy is given, `pairs` are (incumbent, candidate)."""

    policy: TestingPolicy
    plan: Plan
    pairs: tuple[tuple[str, str], ...]
    evidence: Callable[[Sequence[Row]], Evidence]

    def at(self, look: Look, rows: Sequence[Row]) -> Stopping:
        """A candidate is through once it is shown to be better. All end if one of them is futile: every one has to be
        shown; and no concurrent cell is measured unless each survives the reused rows.
        """
        stands = self.policy.stands(self.evidence(rows))
        told = ", ".join(f"{arm} {_WORDS[stand]}" for arm, stand in sorted(stands.items()))
        if look.cells == len(self.plan.cells):
            rejected = not set(stands.values()) <= {"shown", "survives"}
            what = "no concurrent cells" if rejected else "concurrent cells are measured"
            return Stopping(
                arms=self.plan.arms if rejected else (), because=f"look at all reused rows: {told}; {what}"
            )
        arms = self._through(stands)
        what = f"nothing more is measured of {', '.join(arms)}" if arms else "all arms go on"
        return Stopping(arms=arms, because=f"look after {look.repeats} repeats: {told}; {what}")

    def _through(self, stands: Mapping[str, Stand]) -> tuple[str, ...]:
        """The arms that stop; an incumbent that another pair still needs keeps its candidates going."""
        ended = {arm for arm, stand in stands.items() if stand == "shown"}
        if "futile" in stands.values() or ended == set(stands):
            return self.plan.arms
        needed = {incumbent for incumbent, candidate in self.pairs if candidate not in ended}
        stopped = {arm for pair in self.pairs if pair[0] not in needed for arm in pair}
        return tuple(arm for arm in self.plan.arms if arm in stopped)


def planned_looks(policy: Policy, repeats: int) -> tuple[int, ...]:
    """After which numbers of repeats a sweep pauses."""
    return policy.looks_after(repeats) if isinstance(policy, TestingPolicy) else ()


def evidence_looks(plan: Plan) -> tuple[int, ...] | UnsetType:
    """The looks that the verdict on a plan accounts for, the end included; none if it only looks there."""
    inside = tuple(look.repeats for look in plan.planned_looks if look.cells < len(plan.cells))
    return (*inside, 1 + max(cell.repeat for cell in plan.cells)) if inside else UNSET


def look_rule(
    policy: Policy,
    plan: Plan,
    pairs: Sequence[tuple[str, str]],
    evidence: Callable[[Sequence[Row]], Evidence],
) -> LookRule | None:
    """Who decides at the looks of this plan; None where it has none."""
    if not plan.planned_looks or not isinstance(policy, TestingPolicy):
        return None
    return GateLooks(policy, plan, tuple(pairs), evidence)


def missing_cells(plan: Plan, rows: Iterable[Row], spared: Collection[CellKey]) -> list[Cell]:
    """The cells of a plan that have no row that counts for good, although no look spared them."""
    standing = Standing.of(rows)
    return [cell for cell in plan.cells if not standing.settled(cell.key) and cell.key not in spared]
