"""The error budget of a campaign: charged before anything is measured, and never given back."""

import json
import multiprocessing
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bench
from bench.project import RunFolder
from evolve.campaign import CAMPAIGNS, MARK, Campaign, read_marks, release_faults
from evolve.campaign_chain import Subject, next_decision, next_reservation, read_chain
from evolve.cli import main
from evolve.errors import CampaignError
from evolve.gate import CampaignState, Evidence
from evolve.gate.spending import release_level

ALPHA = Fraction(1, 20)
EVIDENCE = Evidence(schema_version=1, model="m", deterministic=False, stopped=None, split="all", pairs=())


def subject(run: str = "r1", generation: int = 1) -> Subject:
    return Subject(run=run, generation=generation, overlay="o", suite="s", policy="exact")


def folder(root: Path, run: str = "20260101T000000Z-a") -> Path:
    made = root / "runs" / run / "gen-1"
    made.mkdir(parents=True, exist_ok=True)
    return made


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return Campaign(tmp_path, "weekly")


def lines(campaign: Campaign) -> list[bytes]:
    return campaign.path.read_bytes().splitlines(keepends=True)


def test_each_test_is_charged_with_a_number_of_its_own(campaign: Campaign, tmp_path: Path) -> None:
    states = [campaign.reserve(subject(f"r{number}"), folder(tmp_path)) for number in range(3)]
    assert [state.release_test for state in states] == [1, 2, 3]
    assert sum(release_level(ALPHA, state.release_test) for state in states) < ALPHA


def test_a_resumed_run_is_charged_once(campaign: Campaign, tmp_path: Path) -> None:
    first = campaign.reserve(subject(), folder(tmp_path))
    assert Campaign(tmp_path, "weekly").reserve(subject(), folder(tmp_path)) == first
    assert campaign.read().tests == 1


def test_a_new_run_folder_is_charged_again(campaign: Campaign, tmp_path: Path) -> None:
    campaign.reserve(subject("r1"), folder(tmp_path))
    assert campaign.reserve(subject("r2"), folder(tmp_path, "20260102T000000Z-b")).release_test == 2


def test_a_crash_and_a_deleted_run_leave_the_budget_spent(campaign: Campaign, tmp_path: Path) -> None:
    campaign.reserve(subject("crashed"), folder(tmp_path))
    (folder(tmp_path) / MARK).unlink()
    assert campaign.reserve(subject("next"), folder(tmp_path)).release_test == 2


def test_a_test_is_decided_once_and_only_if_reserved(campaign: Campaign, tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="no release test was reserved"):
        campaign.decide(subject(), "promote", EVIDENCE)
    campaign.reserve(subject(), folder(tmp_path))
    campaign.decide(subject(), "keep_incumbent", EVIDENCE)
    with pytest.raises(CampaignError, match="was decided already"):
        campaign.decide(subject(), "promote", EVIDENCE)


def test_what_is_noted_already_is_not_noted_again(campaign: Campaign, tmp_path: Path) -> None:
    """A process that was killed after its verdict leaves it to the next one to note how the test ended."""
    campaign.reserve(subject(), folder(tmp_path))
    for _ in range(2):
        campaign.decide(subject(), "promote", EVIDENCE)
    assert len(lines(campaign)) == 2
    assert campaign.place(subject()).release_test == 1


def test_an_insufficient_test_goes_on_and_any_other_is_refused_before_it_measures(
    campaign: Campaign, tmp_path: Path
) -> None:
    first = campaign.reserve(subject(), folder(tmp_path))
    campaign.decide(subject(), "insufficient_evidence", EVIDENCE)
    assert campaign.reserve(subject(), folder(tmp_path)) == first
    campaign.decide(subject(), "keep_incumbent", EVIDENCE)
    with pytest.raises(CampaignError, match=r"was decided already \(keep_incumbent\)"):
        campaign.reserve(subject(), folder(tmp_path))
    assert read_marks(folder(tmp_path)) == (first,)
    assert campaign.read().tests == 1


def test_a_verdict_that_its_campaign_does_not_know_is_at_fault(campaign: Campaign, tmp_path: Path) -> None:
    state = campaign.reserve(subject(), folder(tmp_path))
    assert "does not say that release test 1 promoted" in next(release_faults(tmp_path, state, "r1", 1))
    campaign.decide(subject(), "promote", EVIDENCE)
    assert not list(release_faults(tmp_path, state, "r1", 1))
    assert "does not hold its release test" in next(release_faults(tmp_path, state, "r1", 2))
    campaign.path.unlink()
    assert "does not exist" in next(release_faults(tmp_path, state, "r1", 1))


@pytest.mark.parametrize("number", range(4))
def test_an_edited_line_is_refused(campaign: Campaign, tmp_path: Path, number: int) -> None:
    _two_tests(campaign, tmp_path)
    kept = lines(campaign)
    entry = json.loads(kept[number])
    entry["release_test"] += 1
    kept[number] = json.dumps(entry, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    campaign.path.write_bytes(b"".join(kept))
    with pytest.raises(CampaignError, match=f"line {number + 1}:"):
        campaign.reserve(subject("later"), folder(tmp_path))


@pytest.mark.parametrize("number", range(3))
def test_a_line_that_was_taken_out_is_refused(campaign: Campaign, tmp_path: Path, number: int) -> None:
    _two_tests(campaign, tmp_path)
    kept = lines(campaign)
    del kept[number]
    campaign.path.write_bytes(b"".join(kept))
    with pytest.raises(CampaignError, match=r"does not follow|not release test|never reserved"):
        campaign.read()


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_file_that_was_cut_short_or_emptied_is_refused(
    campaign: Campaign, tmp_path: Path, kept: int
) -> None:
    _two_tests(campaign, tmp_path)
    campaign.path.write_bytes(b"".join(lines(campaign)[:kept]))
    with pytest.raises(CampaignError, match="lines were deleted, or the file was replaced"):
        campaign.reserve(subject("later"), folder(tmp_path))


def test_a_deleted_file_is_refused(campaign: Campaign, tmp_path: Path) -> None:
    campaign.reserve(subject(), folder(tmp_path))
    campaign.path.unlink()
    with pytest.raises(CampaignError, match="restore the file from a copy"):
        campaign.reserve(subject("later"), folder(tmp_path))


def test_a_file_that_was_started_anew_is_refused(campaign: Campaign, tmp_path: Path) -> None:
    campaign.reserve(subject(), folder(tmp_path))
    other = Campaign(tmp_path / "elsewhere", "weekly")
    (tmp_path / "elsewhere").mkdir()
    other.reserve(subject("another"), folder(tmp_path / "elsewhere"))
    campaign.path.write_bytes(other.path.read_bytes())
    with pytest.raises(CampaignError, match="was replaced"):
        campaign.read()


def test_a_torn_last_line_was_no_reservation(campaign: Campaign, tmp_path: Path) -> None:
    """Its test never began: the entry was not on the disk whole, and nobody was given its number."""
    campaign.reserve(subject("r1"), folder(tmp_path))
    whole = campaign.path.read_bytes()
    campaign.path.write_bytes(whole + whole[: len(whole) // 2])
    assert campaign.reserve(subject("r2"), folder(tmp_path)).release_test == 2


def test_a_mark_that_is_none_is_refused(campaign: Campaign, tmp_path: Path) -> None:
    campaign.reserve(subject(), folder(tmp_path))
    (folder(tmp_path) / MARK).write_bytes(b"{}\n")
    with pytest.raises(CampaignError, match="is no mark of a campaign"):
        campaign.read()


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 65])
def test_a_name_that_is_no_file_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CampaignError, match="is no name"):
        Campaign(tmp_path, name)


def test_two_campaigns_do_not_share_a_budget(tmp_path: Path) -> None:
    first, second = Campaign(tmp_path, "a"), Campaign(tmp_path, "b")
    assert first.reserve(subject(), folder(tmp_path)).release_test == 1
    assert second.reserve(subject(), folder(tmp_path)).release_test == 1


def test_runs_of_one_campaign_at_the_same_time_never_get_the_same_number(tmp_path: Path) -> None:
    folders = [folder(tmp_path, f"20260101T00000{number}Z-a") for number in range(4)]
    context = multiprocessing.get_context("fork")
    with context.Pool(4) as pool:
        found = pool.starmap(_reserve_five, [(tmp_path, each, str(n)) for n, each in enumerate(folders)])
    numbers = sorted(number for each in found for number in each)
    assert numbers == list(range(1, 21))
    assert sum(release_level(ALPHA, number) for number in numbers) < ALPHA


def _reserve_five(root: Path, place: Path, run: str) -> list[int]:
    campaign = Campaign(root, "weekly")
    return [campaign.reserve(subject(run, generation), place).release_test for generation in range(5)]


actions = st.lists(st.tuples(st.sampled_from(("reserve", "decide", "read")), st.integers(0, 3)), max_size=12)


@settings(deadline=None, max_examples=60)
@given(actions)
def test_no_order_of_events_spends_more_than_the_budget(events: list[tuple[str, int]]) -> None:
    """On the pure chain: whatever is asked, tests are numbered 1, 2, 3, … and the chain reads back."""
    chain, reserved = read_chain("c", ()), set()
    for kind, number in events:
        about = subject(str(number))
        try:
            if kind == "reserve" and number not in reserved:
                entry = next_reservation(chain, about)
                reserved.add(number)
            elif kind == "decide":
                entry = next_decision(chain, about, "promote", "e")
            else:
                continue
        except CampaignError:
            continue
        if entry is None:
            continue
        chain = read_chain("c", [*map(_line, chain.entries), _line(entry)])
    assert chain.tests == len(reserved)
    assert sum((release_level(ALPHA, test) for test in range(1, chain.tests + 1)), Fraction(0)) < ALPHA


def test_the_lock_file_lies_beside_the_campaign(campaign: Campaign, tmp_path: Path) -> None:
    campaign.reserve(subject(), folder(tmp_path))
    assert {path.name for path in (tmp_path / CAMPAIGNS).iterdir()} == {"weekly.jsonl", ".weekly.lock"}
    assert RunFolder(folder(tmp_path).parent).path.is_dir()


def _line(entry: Any) -> bytes:
    from bench.digest import canonical_json

    return canonical_json(entry)


def _two_tests(campaign: Campaign, root: Path) -> None:
    for name in ("r1", "r2"):
        state = campaign.reserve(subject(name), folder(root))
        assert isinstance(state, CampaignState)
        campaign.decide(subject(name), "keep_incumbent", EVIDENCE)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "spends from a campaign's error budget, and none is named"),
        (["campaign=weekly"], "promotes on rows of its own sweep only"),
        (["campaign=weekly", "reuse=none"], "counts the tasks that no proposer knows"),
        (
            ["experiment=release", "campaign=weekly"],
            "campaigns/weekly.jsonl, line 1: it is no entry of a campaign",
        ),
    ],
)
def test_a_release_test_without_a_sound_campaign_is_refused_before_anything_is_paid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    project = tmp_path / "project"
    shutil.copytree(Path(bench.__file__).parent / "starter" / "project", project)
    (project / CAMPAIGNS).mkdir()
    (project / CAMPAIGNS / "weekly.jsonl").write_bytes(b"{}\n")
    assert main(["promotion.options.tier=release", *words, "--root", str(project), "--quiet"]) == 2
    assert said in capsys.readouterr().err
    assert not (project / "runs").exists()


def test_a_line_that_was_changed_in_one_word_breaks_the_line_after_it(
    campaign: Campaign, tmp_path: Path
) -> None:
    _two_tests(campaign, tmp_path)
    kept = lines(campaign)
    kept[1] = kept[1].replace(b'"keep_incumbent"', b'"promote"')
    campaign.path.write_bytes(b"".join(kept))
    with pytest.raises(CampaignError, match="line 3: it does not follow the line before it"):
        campaign.read()
