"""The rules of the skills fix-work and fix-plan, of the tool `rules` and of the learnings: what they find and repair."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from implementation_evidence import (
    SKILLS,
    Job,
    find,
    implementation_tasks,
    learnings,
    make_base,
    read,
    repair,
    rule_texts,
)
from starter_evidence import rule_id


def test_an_id_means_one_rule_in_all_skills_tools_and_learnings() -> None:
    ids = [rule_id(rule) for found in rule_texts().values() for rule in found]
    ids += [rule_id(entry["rule"]) for entry in learnings() if "rule" in entry]
    assert [rule for rule, count in Counter(ids).items() if count > 1] == []


@pytest.mark.parametrize("skill", ["fix-work", "fix-plan"])
def test_a_skill_has_front_matter_and_ends_with_what_was_learned(skill: str) -> None:
    text = read(SKILLS / skill / "SKILL.md")
    front_matter = yaml.safe_load(text.split("---\n")[1])
    assert front_matter["name"] == skill
    assert len(front_matter["description"]) > 80
    *_, last = re.split(r"^## ", text, flags=re.MULTILINE)
    assert last.startswith("Learned\n")
    assert len(last.strip().splitlines()) == 3


def test_what_work_and_tools_find_they_repair() -> None:
    texts = rule_texts()
    for rule in (*texts["fix-work"], *texts["tool"]):
        assert "fix" in yaml.safe_load(rule), rule
    assert any("fix" in yaml.safe_load(rule) for rule in texts["fix-plan"])


def test_no_rule_finds_anything_in_the_library_itself(tmp_path: Path) -> None:
    texts = rule_texts()
    base = make_base(tmp_path)
    assert [*find(base, [*texts["fix-work"], *texts["fix-plan"], *texts["tool"]])] == []


def test_learnings_are_well_formed_and_were_seen_on_tasks_that_proposers_may_learn_from() -> None:
    entries = learnings()
    assert len(entries) >= 6
    assert len({entry["id"] for entry in entries}) == len(entries)
    assert Counter(entry["skill"] for entry in entries) == {"fix-work": 5, "fix-plan": 1}
    splits = {str(task["id"]): task["split"] for task in implementation_tasks()}
    assert all(splits[entry["task"]] == "train" for entry in entries if "task" in entry)


EXAMPLES = {
    "seconds-without-days": ("(a - b.c).seconds // 60", "(a - b.c).total_seconds() // 60"),
    "suffix-by-letters": ('f(n).rstrip(".csv").strip()', 'f(n).removesuffix(".csv").strip()'),
    "prefix-by-letters": ("n.lstrip('www.')", "n.removeprefix('www.')"),
    "pairs-of-unequal-rows": ("dict(zip(a, b()))", "dict(zip(a, b(), strict=True))"),
    "assertion-as-check": (
        "def f():\n    assert a or b, 'no'\n",
        "def f():\n    if not (a or b):\n        raise ValidationError('no')\n",
    ),
    "result-of-sort": ("x = y.sort(key=f, reverse=True)", "x = sorted(y, key=f, reverse=True)"),
    "result-of-plain-sort": ("def f():\n    return y.sort()\n", "def f():\n    return sorted(y)\n"),
    "name-of-the-last-round": (
        "for n in ns:\n    add(lambda: f(1, n.x))\n",
        "for n in ns:\n    add(lambda n=n: f(1, n.x))\n",
    ),
    "changed-on-the-way": (
        "for k in self.d:\n    if k:\n        del self.d[k]\n",
        "for k in list(self.d):\n    if k:\n        del self.d[k]\n",
    ),
    "sum-without-currency": ("Money(a.minor + b.c.minor)", "a + b.c"),
    "difference-without-currency": ("Money(a.minor - b.minor)", "a - b"),
    "binary-decimal": ("Decimal(0.5)", 'Decimal("0.5")'),
    "quantity-below-by-number": ("a.amount < b(c).amount", "a < b(c)"),
    "quantity-above-by-number": ("a.amount > b.amount", "a > b"),
    "quantity-at-most-by-number": ("a.amount <= b.amount", "a <= b"),
    "quantity-at-least-by-number": ("a.amount >= b.amount", "a >= b"),
    "replaced-offset": ("f(a.replace(tzinfo=UTC))", "f(a.astimezone(UTC))"),
    "zero-taken-for-missing": ("a = a or b.c", "a = a if a is not None else b.c"),
    "lookup-with-fallback": ("d.get(k) or e", "d.get(k, e)"),
    "day-beyond-the-month": ("x = t.replace(day=t.day + n * 2)", "x = (t + timedelta(days=n * 2))"),
    "usual-case-first": ("f() if x is None else x", "x if x is not None else f()"),
}
INNOCENT = """\
delta.seconds
text.rstrip("0123456789-")
text.rstrip(".")
text.lstrip(letters)
zip(a, b, strict=True)
rows.sort()
for n in ns:
    add(lambda: f(m))
    add(lambda n=n: f(n))
for k in list(d):
    del d[k]
for k in d:
    del e[k]
Money(a.minor + b.minor, "CHF")
Decimal("0.5")
Decimal(5)
a.amount < 0
a.minor < b.minor
a.replace(tzinfo=None)
a = b or c
"""


def test_every_rule_repairs_its_example_once_and_leaves_the_innocent_alone(tmp_path: Path) -> None:
    texts = rule_texts()
    learned = [entry["rule"] for entry in learnings() if entry["skill"] == "fix-work" and "rule" in entry]
    every = [*texts["fix-work"], *texts["tool"], *learned]
    assert {rule_id(rule) for rule in every} == set(EXAMPLES)
    for rule, (before, after) in EXAMPLES.items():
        (tmp_path / f"{rule}.py").write_text(before)
        (tmp_path / f"{rule}-after.py").write_text(after)
    (tmp_path / "innocent.py").write_text(INNOCENT)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("assert a, 'b'\n")
    job = Job({"id": "examples"}, tmp_path, tuple(find(tmp_path, every)))
    assert {match.path: match.rule for match in job.matches} == {f"{rule}.py": rule for rule in EXAMPLES}
    for rule, (_, after) in EXAMPLES.items():
        assert repair(job, f"{rule}.py", frozenset({rule})).decode() == after
