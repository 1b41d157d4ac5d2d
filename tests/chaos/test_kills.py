"""One kill in each phase, always at the same points; `nox -s chaos` draws hundreds."""

from pathlib import Path

import pytest

from tests.chaos.applying import apply_faults
from tests.chaos.case import Case, Point, Undisturbed, faults

pytestmark = pytest.mark.e2e

KILLS = [
    ("bubblewrap", [("journal", "after", 3), ("template", "running", 2)]),
    ("bubblewrap", [("append", "after", 1), ("setup", "running", 1)]),
    ("host", [("session", "speaking", 9), ("session", "after", 2)]),
    ("bubblewrap", [("capture", "running", 3)]),
    ("bubblewrap", [("verify", "running", 2)]),
    ("host", [("oracle", "after", 2)]),
    ("bubblewrap", [("append", "torn", 3)]),
    ("bubblewrap", [("store", "unnamed", 4)]),
    ("host", [("journal", "torn", 6)]),
    ("bubblewrap", [("spend", "torn", 9)]),
    ("bubblewrap", [("plan", "unnamed", 1)]),
    ("bubblewrap", [("verdict", "unnamed", 1)]),
    ("bubblewrap", [("report", "before", 1)]),
]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Undisturbed]:
    folder = tmp_path_factory.mktemp("undisturbed")
    return {name: Case(folder / name, name).undisturbed() for name in ("bubblewrap", "host")}


@pytest.mark.parametrize(
    ("sandbox", "points"), KILLS, ids=[f"{points[-1][0]}-{points[-1][1]}" for _, points in KILLS]
)
def test_a_killed_run_goes_on_without_paying_or_losing_anything_and_decides_the_same(
    tmp_path: Path, expected: dict[str, Undisturbed], sandbox: str, points: list[tuple[str, str, int]]
) -> None:
    case = Case(tmp_path / "case", sandbox)
    assert list(faults(case, [Point(*point) for point in points], expected[sandbox])) == []
    assert len(case.kills) == len(points)


def test_a_killed_apply_leads_to_its_end_and_leaves_the_run_as_it_was(tmp_path: Path) -> None:
    case = Case(tmp_path / "case", "bubblewrap", ("work",))
    assert list(apply_faults(case, Point("apply", "exchanged"))) == []
