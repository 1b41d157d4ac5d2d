"""What the runs of a campaign share: one limit, one spender at a time."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from spend_builders import budget, session, terms

from bench.config import Config, load_config, saved_config
from bench.digest import canonical_json, digest_json
from bench.errors import BudgetSpent, RunError
from bench.project import RunFolder, remove_folder
from bench.spend import (
    JOURNAL,
    Amounts,
    Journal,
    Reserved,
    Settled,
    campaign_runs,
    hold_campaign,
    keep_spend,
    picodollars,
    refuse_spent_campaign,
    total,
)


def config(name: str | None = "spring", /, **limits: Any) -> Config:
    plain, _ = load_config([], root=None)
    return structs.replace(plain, campaign=name, budget=budget(**limits))


def write_run(
    root: Path, name: str, campaign: str | None, usd: float, *, open_: bool = False, **more: Any
) -> Path:
    folder = root / "runs" / name
    folder.mkdir(parents=True)
    values = {"campaign": campaign}
    saved = {"schema": "config/1", "digest": digest_json(values), "config": values}
    (folder / "config.json").write_text(json.dumps(saved))
    journal = Journal(folder / JOURNAL, "p", durable=False)
    ceiling = Amounts(picodollars=picodollars(usd), sessions=1, cells=1)
    journal.append(Reserved(id=1, session=session(), amounts=ceiling))
    if not open_:
        journal.append(Settled(id=1, amounts=ceiling, seconds=1.0, basis="agent", **more))
    return folder


LIMITED: dict[str, Any] = {"campaign": {"usd": 1.0}, "cell": {"usd": 0.1}}


def test_only_runs_of_the_campaign_count_and_what_is_open_counts_at_its_ceiling(tmp_path: Path) -> None:
    write_run(tmp_path, "20260101T000000Z-a", "spring", 0.25)
    write_run(tmp_path, "20260102T000000Z-b", "autumn", 5)
    write_run(tmp_path, "20260103T000000Z-c", None, 5)
    write_run(tmp_path, "20260104T000000Z-d", "spring", 0.5, open_=True)
    runs = campaign_runs(tmp_path, config(**LIMITED), terms())
    assert total(runs).picodollars == picodollars(0.75)
    assert [run.run[-1] for run in runs] == ["a", "d"]
    assert [run.run[-1] for run in campaign_runs(tmp_path, config(**LIMITED), terms(), runs[0].run)] == ["d"]


def test_a_session_of_unknown_cost_counts_as_the_most_that_one_may_cost_now(tmp_path: Path) -> None:
    write_run(tmp_path, "20260101T000000Z-a", "spring", 0, unknown=("usd", "tokens"))
    (run,) = campaign_runs(tmp_path, config(**LIMITED), terms(usd=70, tokens=9))
    assert (run.amounts.picodollars, run.amounts.tokens) == (70, 9)


def test_a_spent_campaign_is_refused_and_says_by_which_runs(tmp_path: Path) -> None:
    write_run(tmp_path, "20260101T000000Z-a", "spring", 0.25)
    write_run(tmp_path, "20260102T000000Z-b", "spring", 0.75)
    spring = config(**LIMITED)
    with pytest.raises(BudgetSpent) as caught:
        refuse_spent_campaign(spring, campaign_runs(tmp_path, spring, terms()))
    assert str(caught.value).splitlines() == [
        "the campaign 'spring' has spent its budget.campaign.usd: $1.00 of $1.00, by",
        "    20260102T000000Z-b: $0.75",
        "    20260101T000000Z-a: $0.25",
        "  raise budget.campaign.usd, or name another campaign",
    ]


def test_a_campaign_with_something_left_is_not_refused(tmp_path: Path) -> None:
    write_run(tmp_path, "20260101T000000Z-a", "spring", 0.75)
    spring = config(**LIMITED)
    runs = campaign_runs(tmp_path, spring, terms())
    refuse_spent_campaign(spring, runs)
    assert len(runs) == 1, "what was spent counts, and leaves something"


def test_a_run_that_spent_and_cannot_say_for_whom_is_an_error(tmp_path: Path) -> None:
    folder = write_run(tmp_path, "20260101T000000Z-a", "spring", 0.75)
    (folder / "config.json").write_text("{")
    with pytest.raises(RunError, match="nobody can tell whether"):
        campaign_runs(tmp_path, config(**LIMITED), terms())
    (folder / JOURNAL).unlink()
    assert campaign_runs(tmp_path, config(**LIMITED), terms()) == ()


def test_nothing_is_read_where_nothing_limits_a_campaign(tmp_path: Path) -> None:
    folder = write_run(tmp_path, "20260101T000000Z-a", "spring", 0.75)
    (folder / JOURNAL).write_text("nonsense\n")
    assert campaign_runs(tmp_path, config(), terms()) == ()
    assert campaign_runs(tmp_path, config(None, **LIMITED), terms()) == ()


def test_two_runs_under_one_limit_never_spend_at_once(tmp_path: Path) -> None:
    with (
        hold_campaign(tmp_path, config(**LIMITED)),
        pytest.raises(RunError, match="another run of the campaign 'spring' is at work"),
        hold_campaign(tmp_path, config(**LIMITED)),
    ):
        pass
    with hold_campaign(tmp_path, config(**LIMITED)):
        pass


def test_runs_without_a_limit_go_side_by_side_but_keep_a_limited_one_away(tmp_path: Path) -> None:
    with hold_campaign(tmp_path, config()), hold_campaign(tmp_path, config()):
        with pytest.raises(RunError), hold_campaign(tmp_path, config(**LIMITED)):
            pass
        with hold_campaign(tmp_path, config("autumn", **LIMITED)), hold_campaign(tmp_path, config(None)):
            pass


def test_what_a_removed_run_spent_counts_once_before_and_after_it_is_gone(tmp_path: Path) -> None:
    run = RunFolder(write_run(tmp_path, "20260101T000000Z-a", "spring", 0.25, unknown=("tokens",)))
    before = total(campaign_runs(tmp_path, config(**LIMITED), terms(tokens=9)))
    for _ in range(2):
        keep_spend(tmp_path, run)
        assert total(campaign_runs(tmp_path, config(**LIMITED), terms(tokens=9))) == before
    remove_folder(run.path)
    assert total(campaign_runs(tmp_path, config(**LIMITED), terms(tokens=9))) == before
    assert before.picodollars == picodollars(0.25)
    assert campaign_runs(tmp_path, config("autumn", **LIMITED), terms()) == ()


def test_an_edited_line_on_a_removed_run_is_an_error_and_a_torn_one_is_cut(tmp_path: Path) -> None:
    for name in ("20260101T000000Z-a", "20260102T000000Z-b"):
        run = RunFolder(write_run(tmp_path, name, "spring", 0.25))
        keep_spend(tmp_path, run)
        remove_folder(run.path)
        with (tmp_path / "runs" / "pruned-spend.jsonl").open("a") as file:
            file.write('{"torn')
    assert total(campaign_runs(tmp_path, config(**LIMITED), terms())).picodollars == picodollars(0.5)
    path = tmp_path / "runs" / "pruned-spend.jsonl"
    path.write_text(path.read_text().replace('"cells":1', '"cells":0'))
    with pytest.raises(RunError, match="line 1 cannot be read: it is not what its digest says"):
        campaign_runs(tmp_path, config(**LIMITED), terms())


@pytest.mark.parametrize("lost", ["the file", "its content", "its entries"])
def test_a_run_whose_journal_of_spending_was_lost_is_not_taken_for_one_that_spent_nothing(
    tmp_path: Path, lost: str
) -> None:
    folder = write_run(tmp_path, "20260101T000000Z-a", "spring", 0.25)
    (folder / "gen-1").mkdir()
    (folder / "gen-1" / "results.jsonl").write_text(
        '{"sessions": {"work": {}}}\n{"sessions": {"work": {}}, "reuse": {}}\n'
    )
    assert len(campaign_runs(tmp_path, config(**LIMITED), terms())) == 1
    path = folder / JOURNAL
    if lost == "the file":
        path.unlink()
    else:
        path.write_bytes(
            b"".join(path.read_bytes().splitlines(keepends=True)[: 1 if lost == "its entries" else 0])
        )
    with pytest.raises(RunError, match="nobody can tell what 20260101T000000Z-a spent"):
        campaign_runs(tmp_path, config(**LIMITED), terms())


def test_the_campaign_of_an_edited_configuration_is_not_believed(tmp_path: Path) -> None:
    folder = write_run(tmp_path, "20260101T000000Z-a", "spring", 0.25)
    plain, composed = load_config([], root=None)
    saved = json.loads(canonical_json(saved_config(structs.replace(plain, campaign="spring"), composed)))
    path = folder / "config.json"
    path.write_text(json.dumps(saved))
    assert len(campaign_runs(tmp_path, config(**LIMITED), terms())) == 1
    edited = {**saved, "config": {**saved["config"], "campaign": "autumn"}}
    for content in (edited, {name: value for name, value in edited.items() if name != "digest"}):
        path.write_text(json.dumps(content))
        with pytest.raises(RunError, match="cannot be relied on"):
            campaign_runs(tmp_path, config(**LIMITED), terms())
