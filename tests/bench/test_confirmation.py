"""A run that may cost money asks a person at a terminal, and takes nothing but a yes for one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from msgspec import structs

from bench.cancellation import Cancellation
from bench.cli_run import confirmed
from bench.config import BudgetConfig, Config, load_config
from bench.errors import ConfigError


@pytest.fixture
def config() -> Config:
    return load_config([], root=None)[0]


@contextmanager
def terminal() -> Iterator[int]:
    """The end of a terminal at which a person types; stdin and stderr are the other one."""
    person, program = os.openpty()
    with (
        os.fdopen(program, "r") as stdin,
        os.fdopen(os.dup(program), "w") as stderr,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("sys.stdin", stdin)
        patch.setattr("sys.stderr", stderr)
        yield person
    os.close(person)


@pytest.mark.parametrize(
    ("typed", "starts"),
    [(b"y\n", True), (b"Yes \n", True), (b"\n", False), (b"n\n", False), (b"\x04", False)],
)
def test_only_a_yes_starts_a_run(typed: bytes, starts: bool, config: Config) -> None:
    with terminal() as person, Cancellation() as cancellation:
        os.write(person, typed)
        assert confirmed(config, "$3.00", cancellation) == starts


def test_the_question_says_what_it_may_cost(config: Config) -> None:
    with terminal() as person, Cancellation() as cancellation:
        os.write(person, b"n\n")
        confirmed(config, "unknown: no earlier rows to estimate from", cancellation)
        said = b""
        while b"nothing was started" not in said:
            said += os.read(person, 4096)
    assert b"cost: unknown: no earlier rows to estimate from" in said
    assert b"start? [y/N]" in said


def test_a_signal_answers_the_question_with_no(config: Config) -> None:
    with terminal(), Cancellation() as cancellation:
        cancellation.cancel("SIGINT")
        assert not confirmed(config, "$3.00", cancellation)


def test_nobody_is_asked_where_that_is_switched_off(config: Config) -> None:
    with Cancellation() as cancellation:
        assert confirmed(structs.replace(config, budget=BudgetConfig(confirm=False)), "$3.00", cancellation)


def test_where_nobody_can_be_asked_the_run_is_refused(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open("/dev/null") as nothing, Cancellation() as cancellation:
        monkeypatch.setattr("sys.stdin", nothing)
        with pytest.raises(ConfigError, match=r"set budget\.confirm=false"):
            confirmed(config, "$3.00", cancellation)
