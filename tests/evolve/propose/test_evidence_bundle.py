"""What a proposing session is shown stays within its bounds, and loses first what says least."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.errors import ProposalError
from evolve.propose import Evidence, Exhibit, RejectedProposal, Seen, SeenRow, select_rows
from evolve.propose.agent import Bounds, make_bundle
from evolve.propose.agent.bundle import SMALLEST_FILE
from evolve.propose.agent.compact import LONGEST_TEXT, compact_text, compact_transcript

KIB = 1 << 10


def row(task: str, *, resolved: bool = False, cost: float | None = None, repeat: int = 0) -> SeenRow:
    return SeenRow(
        task=task, task_class="trivial", arm="work", repeat=repeat, status="measured", kind=None, detail="",
        resolved=resolved, cost_usd=cost, turns=None, output_tokens=None, change="", check="", score={},
    )  # fmt: skip


def seen(number: int, sizes: list[int]) -> Seen:
    kinds = ("transcript", "patch", "review")
    line = json.dumps({"text": "x" * 2000}).encode() + b"\n"
    return Seen(
        row(f"task-{number}"),
        tuple(
            Exhibit(kind, line * (size * KIB // len(line)) if kind == "transcript" else b"y" * size * KIB)
            for kind, size in zip(kinds, sizes, strict=False)
        ),
    )


sizes_of_rows = st.lists(st.lists(st.sampled_from([0, 3, 40, 300]), max_size=3), max_size=5)


@settings(max_examples=30, deadline=None)
@given(sizes_of_rows, st.lists(st.sampled_from([1, 50]), max_size=3), st.sampled_from([64, 100, 300, 2048]))
def test_a_bundle_fits_and_what_says_least_goes_first(
    sizes: list[list[int]], cases: list[int], most: int
) -> None:
    evidence = Evidence(
        rows=tuple(seen(number, each) for number, each in enumerate(sizes)),
        rejected=tuple(RejectedProposal(f"idea {each}", "z" * each * KIB) for each in cases),
    )
    bounds = Bounds(bundle=most * KIB)
    bundle = make_bundle(evidence, bounds)
    assert sum(map(len, bundle.files.values())) <= bounds.bundle
    assert all(len(content) <= bounds.file for content in bundle.files.values())
    assert all("/" not in name and name[0] != "." for name in bundle.files)
    rows = json.loads(bundle.files["rows.json"])
    kept = len(bundle.evidence.rows)
    assert [each["task"] for each in rows] == [each.row.task for each in evidence.rows[:kept]]
    assert sorted(name for each in rows for name in each["files"]) == sorted(
        n for n in bundle.files if n[:4] == "row-"
    )
    if kept < len(evidence.rows):  # by then everything else was given up
        assert not bundle.evidence.rejected
    if bundle.evidence.rejected != evidence.rejected:
        assert all(len(content) <= SMALLEST_FILE for content in bundle.files.values())


def test_what_must_be_there_and_does_not_fit_is_refused_with_the_keys_to_change() -> None:
    with pytest.raises(ProposalError, match=r"does not fit.*\n  raise proposer\.options\.bundle_kb"):
        make_bundle(Evidence(), Bounds(bundle=3))


@given(st.binary(max_size=3000), st.integers(0, 2000))
def test_a_shortened_text_is_never_longer_than_allowed_and_a_short_one_is_itself(
    content: bytes, most: int
) -> None:
    short = compact_text(content, most)
    assert len(short) <= most
    assert short == content or len(content) > most


lines = st.lists(
    st.one_of(
        st.binary(max_size=200).map(lambda each: each.replace(b"\n", b"")),
        st.dictionaries(st.text(max_size=9), st.text(max_size=40), max_size=4).map(
            lambda each: json.dumps(each).encode()
        ),
    ),
    max_size=20,
)


@given(lines, st.integers(0, 4000))
def test_a_transcript_keeps_its_newest_events_whole(events: list[bytes], most: int) -> None:
    content = b"\n".join(events)
    short, whole = compact_transcript(content, most), compact_transcript(content, 1 << 20)
    assert len(short) <= most
    assert whole.endswith(short)
    assert all(isinstance(json.loads(line), object) for line in short.split(b"\n")[:-1])
    left = whole.removesuffix(short).split(b"\n")[:-1]
    assert not left or len(short) + len(left[-1]) + 1 > most


def test_long_strings_of_an_event_lose_their_middle_and_signatures_go() -> None:
    event = {"signature": "s" * 50, "parts": [{"text": "a" * 5000 + "z" * 5000}]}
    (kept,) = compact_transcript(json.dumps(event).encode(), 1 << 20).splitlines()
    text = json.loads(kept)["parts"][0]["text"]
    assert (text[:9], text[-9:]) == ("a" * 9, "z" * 9)
    assert len(text) < LONGEST_TEXT + 50
    assert b"signature" not in kept


rows = st.lists(
    st.builds(
        row,
        st.sampled_from("abc"),
        resolved=st.booleans(),
        cost=st.none() | st.floats(0, 9),
        repeat=st.integers(0, 99),
    ),
    max_size=9,
    unique_by=lambda each: each.key,
)


@given(rows, st.integers(0, 12))
def test_unresolved_rows_come_first_and_then_the_dearest(given_rows: list[SeenRow], most: int) -> None:
    chosen = select_rows(given_rows, most)
    every = select_rows(given_rows, len(given_rows))
    assert chosen == every[:most]
    assert [each.resolved for each in every] == sorted(each.resolved for each in every)
    dear = [each.cost_usd or 0 for each in every if each.resolved]
    assert dear == sorted(dear, reverse=True)
    assert select_rows(list(reversed(given_rows)), most) == chosen
