"""`evolve certify`: it passes what holds its error, and fails what does not, whatever a policy says of itself."""

import json
import xml.etree.ElementTree as ET
from fractions import Fraction
from pathlib import Path
from random import Random
from statistics import median

import jsonschema
import msgspec
import pytest
from stored_runs import ID, store, sweep
from testing_builders import policy, search

from bench.generated_schema import generated_schema
from evolve.certify import (
    Certificate,
    Job,
    World,
    certify,
    draw,
    exact_sizes,
    measured_pairs,
    permuted,
    svg,
)
from evolve.certify.enumeration import Design
from evolve.cli import main
from evolve.gate import Evidence, Policy, Verdict
from evolve.gate.signs import needed_wins, tail

JOB = Job(tasks=12, repeats=3, bound=0.05, trials=60, seed=0, rows="none")


class Broken:
    """A policy that says it is `exact` at 5 %, and is not."""

    name = "exact"
    metric = "resolved"

    def __init__(self, inner: Policy) -> None:
        self._inner = inner

    def detects(self, tasks: int, repeats: int) -> str:
        return self._inner.detects(tasks, repeats)

    def decide(self, evidence: Evidence) -> Verdict:
        return self._inner.decide(self.seen(evidence))

    def seen(self, evidence: Evidence) -> Evidence:
        return evidence


class ReusedPromote(Broken):
    def seen(self, evidence: Evidence) -> Evidence:
        """Every row passes for fresh."""
        return msgspec.convert(_fresh(msgspec.to_builtins(evidence)), Evidence)


class Medians(Broken):
    """Promotes if the median task costs less."""

    def decide(self, evidence: Evidence) -> Verdict:
        verdict = self._inner.decide(evidence)
        (pair,) = evidence.pairs
        pairs = [
            (each.incumbent.aggregate.cost_usd, each.candidate.aggregate.cost_usd) for each in pair.tasks
        ]
        cheaper = median((before or 0) - (now or 0) for before, now in pairs)
        decision = "promote" if cheaper > 0 else "keep_incumbent"
        return msgspec.structs.replace(verdict, decision=decision)


def _fresh(value: object) -> object:
    if isinstance(value, dict):
        return {key: True if key == "fresh" else _fresh(inner) for key, inner in value.items()}
    return [_fresh(each) for each in value] if isinstance(value, list | tuple) else value


def checks(certificate: Certificate) -> dict[str, bool]:
    return {check.name: check.holds for check in certificate.checks}


@pytest.mark.parametrize("name", ["exact", "anytime"])
def test_the_policies_that_test_are_certified(name: str) -> None:
    certificate = certify(policy(name), JOB)
    assert certificate.holds, certificate.checks
    assert [point.effect for point in certificate.curve] == sorted(
        point.effect for point in certificate.curve
    )


def test_three_times_the_level_is_found_out() -> None:
    found = certify(Broken(policy(tier="search", search_alpha=0.15)), JOB)
    assert not found.holds
    assert not checks(found)["exact size, worst number of differing pairs"]


def test_reused_rows_that_promote_are_found_out() -> None:
    job = msgspec.structs.replace(JOB, tasks=20, repeats=5)
    found = certify(ReusedPromote(policy()), job)
    assert [name for name, holds in checks(found).items() if not holds] == [
        "the same, reused rows of an incumbent that was worse by 10 points"
    ]


def test_a_gate_on_medians_is_found_out() -> None:
    assert not checks(certify(Medians(policy()), JOB))["a candidate like the incumbent"]


def test_the_enumerated_size_is_the_binomial_tail() -> None:
    level = Fraction(1, 20)
    for at in exact_sizes(search(), Design(tasks=6, repeats=3), 40):
        wins = needed_wins(at.differing, level)
        assert at.size == (0 if wins is None else tail(at.differing, wins, Fraction(1, 2)))


def test_the_same_seed_gives_the_same_certificate() -> None:
    small = msgspec.structs.replace(JOB, tasks=4, trials=10)
    assert certify(policy(), small) == certify(policy(), small)


def test_exchanging_labels_keeps_every_row_of_a_task() -> None:
    evidence = sweep(0.3)
    measured = measured_pairs(evidence.pairs[0], evidence)
    made = permuted(measured, Random(1)).pairs[0]
    for before, after in zip(evidence.pairs[0].tasks, made.tasks, strict=True):
        rows = [
            sorted(row.cost_usd for arm in (each.incumbent, each.candidate) for row in arm.rows)
            for each in (before, after)
        ]
        assert rows[0] == rows[1]


def test_a_planted_effect_is_found_on_average() -> None:
    evidence = sweep(tasks=20, repeats=5)
    measured = measured_pairs(evidence.pairs[0], evidence)

    def gain(effect: float) -> float:
        made = [permuted(measured, Random(seed), effect=effect).pairs[0] for seed in range(60)]
        return sum(
            each.candidate.aggregate.resolved - each.incumbent.aggregate.resolved
            for pair in made
            for each in pair.tasks
        ) / (60 * 100)

    assert gain(0.0) == pytest.approx(0, abs=0.02)
    assert gain(0.1) == pytest.approx(0.1, abs=0.02)
    assert gain(-0.1) == pytest.approx(-0.1, abs=0.02)


def test_a_drawn_world_has_the_effect_it_says() -> None:
    total = 0
    for seed in range(40):
        (pair,) = draw(World(tasks=20, repeats=5, effect=0.1), Random(seed)).pairs
        total += sum(
            each.candidate.aggregate.resolved - each.incumbent.aggregate.resolved for each in pair.tasks
        )
    assert total / (40 * 100) == pytest.approx(0.1, abs=0.025)


def test_the_picture_is_svg_and_shows_every_point() -> None:
    certificate = certify(policy(), msgspec.structs.replace(JOB, tasks=4, trials=5))
    root = ET.fromstring(svg(certificate))
    circles = root.findall("{http://www.w3.org/2000/svg}circle")
    assert len(circles) == len(certificate.curve)


def test_the_command_certifies_a_run_and_prints_its_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store(tmp_path, policy(), sweep(0.2))
    picture = tmp_path / "curve.svg"
    words = [
        "certify",
        ID[:10],
        "--root",
        str(tmp_path),
        "--trials",
        "10",
        "--json",
        "--quiet",
        "--svg",
        str(picture),
    ]
    assert main(words) == 0
    printed = json.loads(capsys.readouterr().out)
    jsonschema.validate(printed, generated_schema(Certificate, "certificate"))
    assert (printed["tasks"], printed["repeats"], printed["holds"]) == (8, 3, True)
    assert any(check["name"] == "your rows, labels exchanged" for check in printed["checks"])
    assert picture.read_text("utf-8").startswith("<svg")


def test_the_command_exits_4_for_thresholds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store(tmp_path, policy(), sweep(0.2))
    words = ["certify", ID, "--root", str(tmp_path), "--trials", "40", "--quiet", "promotion=threshold_cost"]
    assert main(words) == 4
    assert "a bound is broken" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["certify", "nothing"], "nothing"),
        (["certify", "2099"], "there is no run"),
        (["certify", ID, "--svg", "/nonexistent/x.svg", "--trials", "1"], "cannot be written"),
        (["certify", ID, "promotion=exat"], "exat"),
    ],
)
def test_a_wrong_request_is_an_error_and_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    store(tmp_path, policy(), sweep())
    assert main([*words, "--root", str(tmp_path), "--quiet"]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("error: ")
    assert said in printed
