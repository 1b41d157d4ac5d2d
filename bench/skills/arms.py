"""Which arms measure a change of a skill: exactly those that can show its effect, and what they are compared with."""

from collections.abc import Iterable, Mapping

from bench.config import ArmSpec, Role
from bench.errors import OverlayError
from bench.skills.refusal import listed

Arms = Mapping[str, ArmSpec]


def required_arms(arms: Arms, touched: Iterable[str] | None) -> tuple[str, ...]:
    """The arms to measure, in order: comparators, controls, then each incumbent with its candidates behind it.

    With `touched` skills, only the incumbents that load one of them; with None (nothing proposed), all
    incumbents and no candidate. OverlayError when nothing would measure a touched skill.
    """
    background = [*_with_role(arms, "comparator"), *_with_role(arms, "control")]
    incumbents = _with_role(arms, "incumbent")
    if touched is None:
        return (*background, *incumbents)
    changed = frozenset(touched)
    involved = [name for name in incumbents if changed & _loaded(arms[name])]
    problems = [*_unmeasured(arms, involved, changed), *_unpaired(arms, involved, changed)]
    if problems:
        raise OverlayError(f"the overlay cannot be measured with these arms:{listed(problems)}")
    pairs = [arm for name in involved for arm in (name, *_candidates(arms, name))]
    return (*background, *pairs)


def _with_role(arms: Arms, role: Role) -> list[str]:
    return sorted(name for name, arm in arms.items() if arm.role == role)


def _candidates(arms: Arms, incumbent: str) -> list[str]:
    return [name for name in _with_role(arms, "candidate") if arms[name].candidate_of == incumbent]


def _loaded(arm: ArmSpec) -> frozenset[str]:
    """The project's own skills that an arm loads; an arm with a family of its own loads none of them."""
    return frozenset(arm.skills) if arm.family is None else frozenset()


def _unmeasured(arms: Arms, involved: Iterable[str], changed: frozenset[str]) -> list[str]:
    loaded = frozenset[str]().union(*(_loaded(arms[name]) for name in involved))
    return [
        f"it touches skill `{skill}`, which no selected incumbent arm loads: nothing would measure it"
        for skill in sorted(changed - loaded)
    ]


def _unpaired(arms: Arms, involved: Iterable[str], changed: frozenset[str]) -> list[str]:
    """Incumbent arms that load a touched skill, but whose candidate would not show the change."""
    problems: list[str] = []
    for name in involved:
        candidates = _candidates(arms, name)
        if not candidates:
            problems.append(f"arm `{name}` loads a touched skill, but no arm has `candidate_of: {name}`")
        for candidate in candidates:
            missing = sorted((changed & _loaded(arms[name])) - _loaded(arms[candidate]))
            problems += [
                f"arm `{candidate}` does not load skill `{skill}`, as `{name}` does" for skill in missing
            ]
    return problems
