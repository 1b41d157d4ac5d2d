"""Real code that nobody here wrote: what is learned there holds on packages that no rule was written for."""

from pathlib import Path

import pytest

from evolve.gate import read_promotion
from tests.e2e.commands import run


@pytest.mark.network
def test_generations_on_real_packages_raise_the_holdout_and_keep_the_bad_ideas_out(project: Path) -> None:
    prepared = run("bench", "prepare", "wild", folder=project, timeout=300)
    assert prepared.code == 0, prepared.err
    again = run("bench", "prepare", "wild", folder=project)
    assert "already prepared" in again.out + again.err

    done = run("evolve", "--json", "suite=wild", "generations=4", folder=project, timeout=600)

    assert done.code == 0, done.err
    decisions = {each["idea"]: each["decision"] for each in done.json["generations"]}
    assert decisions == {
        "chain-raised-errors": "promote",
        "forbid-catch-alls": "keep_incumbent",
        "read-with-care": "keep_incumbent",
        "silent-handlers": "promote",
    }
    verdicts = [read_promotion(Path(each["promotion"])).verdict for each in done.json["generations"]]
    first, last = verdicts[0].pairs[0].means["holdout"][0], verdicts[-1].pairs[0].means["holdout"][1]
    assert first is not None
    assert last is not None
    assert last > first + 0.2
