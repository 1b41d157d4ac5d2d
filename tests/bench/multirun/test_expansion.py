"""Points of a multirun: what axes, zip, include and exclude make, lazily."""

from itertools import islice, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.config import Axis, Swept, load_config, load_swept
from bench.errors import ConfigError
from bench.multirun import expand, most_points

texts = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True).map(tuple)
axes = st.lists(texts, min_size=1, max_size=4).map(
    lambda values: tuple(Axis(f"k{number}", each) for number, each in enumerate(values))
)


def swept(found: tuple[Axis, ...], **rules: object) -> Swept:
    return Swept(command="evolve", fixed=("x=1",), axes=found, **rules)  # type: ignore[arg-type]


@given(axes)
def test_without_rules_the_points_are_the_product_with_the_last_axis_fastest(found: tuple[Axis, ...]) -> None:
    points = list(expand(swept(found)))
    combined = list(product(*(axis.values for axis in found)))
    assert [tuple(value for _, value in point.sets) for point in points] == combined
    assert [point.number for point in points] == list(range(1, len(points) + 1))
    assert len(points) == most_points(swept(found))
    assert all(point.words[0] == "x=1" and len(point.words) == 1 + len(found) for point in points)


@given(axes, st.data())
def test_an_excluded_assignment_is_in_no_point_and_all_others_stay(
    found: tuple[Axis, ...], data: st.DataObject
) -> None:
    axis = data.draw(st.sampled_from(found))
    gone = (axis.name, data.draw(st.sampled_from(axis.values)))
    points = [point.sets for point in expand(swept(found, exclude=((gone,),)))]
    assert points == [point.sets for point in expand(swept(found)) if gone not in point.sets]


@given(texts)
def test_zipped_axes_advance_together(values: tuple[str, ...]) -> None:
    both = (Axis("a", values), Axis("b", values[::-1]))
    points = [dict(point.sets) for point in expand(swept(both, zipped=(("a", "b"),)))]
    assert points == [{"a": one, "b": other} for one, other in zip(values, values[::-1], strict=True)]


def test_an_included_point_comes_last_and_is_excluded_by_nothing() -> None:
    extra = (("a", "1"), ("seed", "7"))
    points = list(expand(swept((Axis("a", ("1", "2")),), include=(extra,), exclude=((("a", "1"),),))))
    assert [point.label for point in points] == ["a=2", "a=1 seed=7"]


def test_points_come_one_after_the_other_without_a_list_of_all() -> None:
    many = tuple(Axis(f"k{number}", tuple("abcdefghij")) for number in range(12))
    assert most_points(swept(many)) == 10**12
    assert [point.number for point in islice(expand(swept(many)), 3)] == [1, 2, 3]


WORDS = {
    "a list": ("model=none,ollama", ["none", "ollama"]),
    "a range": ("repeats=range(1,4)", ["1", "2", "3"]),
    "a choice": ("effort=choice(low,high)", ["low", "high"]),
    "a glob": ("model=glob(claude*,exclude=*opus*)", ["claude_haiku_4_5"]),
    "a sorted list": ("workers=sort(3,1,2)", ["1", "2", "3"]),
    "one word of several": ("name='a b',c", ["'a b'", "c"]),
}


@pytest.mark.parametrize("case", WORDS)
def test_axes_are_read_by_the_grammar_of_hydra(case: str) -> None:
    word, values = WORDS[case]
    (axis,) = load_swept([word, "seed=1"], root=None).axes
    assert [each.replace("\\ ", " ").strip("'") for each in axis.values] == [
        each.strip("'") for each in values
    ]
    assert load_swept([word, "seed=1"], root=None).fixed == ("seed=1",)


def test_a_shuffled_axis_has_all_its_values_in_another_order_that_is_the_same_each_time() -> None:
    orders = [load_swept(["seed=shuffle(range(0,50))"], root=None).axes[0].values for _ in range(2)]
    assert orders[0] == orders[1]
    assert list(orders[0]) != sorted(orders[0], key=int)
    assert sorted(orders[0], key=int) == [str(number) for number in range(50)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["model=none,nope"], "the group model has no option 'nope'; did you mean 'none'?"),
        (["repeats=1,2", "repeats=3,4"], "repeats is an axis twice"),
        (["+x={a:1},{a:2}", "+x={b:3},{b:4}"], "x is an axis twice"),
        (["repeats=1,2", "repeats=3"], "repeats is an axis and is also given one value"),
        (["model=glob(zz*)"], "model is an axis without a value"),
        (["repeats=shuffle([1,2])"], "cannot read the override"),
    ],
)
def test_what_would_silently_run_something_else_is_refused(words: list[str], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_swept(words, root=None)
    assert said in str(refused.value)


BLOCK = """\
# @package _global_
# A matrix.
sweep:
  axes:
    effort: [low, high]
    repeats: range(1,3)
    seed: [1, 2]
  zip: [[repeats, seed]]
  exclude: [{effort: high, repeats: 2}]
  include: [{effort: low, repeats: 9, seed: 9}]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "evolve.toml").write_text('name = "x"\n')
    (tmp_path / "conf" / "experiment").mkdir(parents=True)
    (tmp_path / "conf" / "experiment" / "matrix.yaml").write_text(BLOCK)
    return tmp_path


def test_a_block_gives_axes_that_are_zipped_excluded_and_included(project: Path) -> None:
    found = load_swept(["experiment=matrix", "workers=1,2"], root=project)
    labels = [point.label for point in expand(found)]
    assert labels == [
        *(
            f"workers={workers} effort={effort} repeats={repeats} seed={repeats}"
            for workers in (1, 2)
            for effort, repeats in (("low", 1), ("low", 2), ("high", 1))
        ),
        "effort=low repeats=9 seed=9",
    ]
    config, _ = load_config(next(expand(found)).words, root=project, point=True)
    assert (config.workers, config.effort, config.repeats, config.seed) == (1, "low", 1, 1)


def test_a_block_is_refused_without_m_and_names_it(project: Path) -> None:
    with pytest.raises(ConfigError, match=r"evolve -m …, bench -m …"):
        load_config(["experiment=matrix"], root=project)
    assert load_config(["experiment=matrix", "~sweep"], root=project)[0].effort is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("zip:", "zipp:", "did you mean 'zip'?"),
        ("[[repeats, seed]]", "[[repeats, sede]]", "sede is no axis; did you mean 'seed'?"),
        ("[[repeats, seed]]", "[[repeats, seed], [seed, effort]]", "seed is named twice"),
        ("range(1,3)", "range(1,4)", "repeats has 3, seed has 2"),
        ("[{effort: high, repeats: 2}]", "[{efort: high}]", "efort is no axis; did you mean 'effort'?"),
        ("[{effort: high, repeats: 2}]", "[{}]", "empty entry"),
    ],
)
def test_a_wrong_block_is_told_with_what_was_meant(project: Path, old: str, new: str, said: str) -> None:
    path = project / "conf" / "experiment" / "matrix.yaml"
    path.write_text(BLOCK.replace(old, new))
    with pytest.raises(ConfigError) as refused:
        load_swept(["experiment=matrix"], root=project)
    assert said in str(refused.value)
