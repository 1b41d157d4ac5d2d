"""What `evolve certify` does, from a run or a suite to a table."""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.agents import create_agent
from bench.cli_run import load, print_json
from bench.config import Config
from bench.errors import ConfigError, RunError, UserError
from bench.exits import ExitCode
from bench.project import RunFolder, find_run
from bench.suite import load_suite, select_tasks
from bench.sweep import works_on
from evolve.certify.enumeration import Design
from evolve.certify.model import Certificate
from evolve.certify.picture import svg
from evolve.certify.resampling import measured_pairs
from evolve.certify.trials import Job, certify
from evolve.errors import PromotionError
from evolve.gate import Policy, Promotion, TestingPolicy, load_policy, policy_named, read_promotion

BOUND = 0.05
Say = Callable[[str], None]


def certify_command(options: argparse.Namespace, root: Path, say: Say) -> ExitCode:
    """Certify a policy on a run's rows, or on a suite's design; CHECK if a bound is broken."""
    run = _run(root, options.target)
    policy, job = _of_suite(options, root) if run is None else _of_run(options, root, run)
    say(
        f"certifying {policy.name}: {job.tasks} tasks x {job.repeats} repeats, {job.trials} trials each; {job.rows}"
    )
    certificate = certify(policy, job)
    if options.svg is not None:
        _write(Path(options.svg), svg(certificate))
    if options.json:
        print_json(certificate)
    else:
        print("\n".join(certificate_lines(certificate)))
    return ExitCode.VERDICT if certificate.holds else ExitCode.CHECK


def certificate_lines(certificate: Certificate) -> Iterator[str]:
    """The certificate for people."""
    yield f"{certificate.policy} on {certificate.tasks} tasks x {certificate.repeats} repeats ({certificate.rows})"
    yield ""
    yield f"promoted although no better; at most {certificate.bound:.3g} is allowed:"
    for check in certificate.checks:
        found = "exact" if check.promoted is None else f"{check.promoted} of {check.trials}"
        yield f"  {'holds ' if check.holds else 'BROKEN'}  {check.rate:7.2%}  {check.name} ({found})"
    yield ""
    yield "promoted, by the true effect (95 % interval):"
    for point in certificate.curve:
        low, high = point.interval
        yield f"  {100 * point.effect:+4.0f} points  {point.rate:7.2%}  ({low:.1%} … {high:.1%})"
    yield ""
    yield (
        "every bound holds"
        if certificate.holds
        else "a bound is broken: do not rely on this policy for this design"
    )


def _run(root: Path, target: str) -> RunFolder | None:
    """The run that is meant; None if it is a suite's name."""
    try:
        return find_run(root, target)
    except RunError:
        if "/" in target or target[:1].isdigit():
            raise
        return None


def _of_run(options: argparse.Namespace, root: Path, run: RunFolder) -> tuple[Policy, Job]:
    promotion = _last_promotion(run)
    stated = promotion.verdict
    if options.overrides:
        policy = _composed(options, root)[1]
    else:
        policy = policy_named(stated.policy, stated.parameters)
    pairs = promotion.evidence.pairs
    measured = measured_pairs(pairs[0], promotion.evidence) if pairs else None
    if measured is None or not measured.tasks:
        raise PromotionError(f"run {run.id} holds no complete pair of rows\n  certify its suite instead")
    design = Design(tasks=len(measured.tasks), repeats=measured.repeats, deterministic=measured.deterministic)
    job = _job(options, policy, design)
    return policy, job.with_rows(f"rows of run {run.id}", measured)


def _of_suite(options: argparse.Namespace, root: Path) -> tuple[Policy, Job]:
    options.overrides = [f"suite={options.target}", *options.overrides]
    config, policy = _composed(options, root)
    suite = load_suite(config.suite, root)
    selected = select_tasks(suite, config.tasks, include_expensive=config.include_expensive).tasks
    split = "all" if config.promotion is None else config.promotion.split
    judged = [arm for arm in config.arms.values() if arm.role == "candidate"]
    counted = [
        task
        for task in selected
        if split in ("all", task.split)
        and task.class_ != "review-clean"
        and any(works_on(arm, task) for arm in judged)
    ]
    if not counted:
        raise ConfigError(
            f"promotion.split={split} counts none of the {len(selected)} tasks that tasks.* leaves"
        )
    once = create_agent(config.agent, root).deterministic
    design = Design(tasks=len(counted), repeats=1 if once else config.repeats, deterministic=once)
    return policy, _job(options, policy, design)


def _composed(options: argparse.Namespace, root: Path) -> tuple[Config, Policy]:
    config = load(options, root, "evolve").config
    if config.promotion is None:
        raise ConfigError("this configuration has no promotion, so there is no policy to certify")
    return config, load_policy(config.promotion)


def _job(options: argparse.Namespace, policy: Policy, design: Design) -> Job:
    bound = options.bound if options.bound is not None else _promised(policy)
    return Job(
        tasks=design.tasks,
        repeats=design.repeats,
        deterministic=design.deterministic,
        bound=bound,
        trials=options.trials,
        seed=options.seed,
        rows="no rows: the latent mix of docs/gate-exact.md",
        releases=not isinstance(policy, TestingPolicy) or policy.spends,
    )


def _promised(policy: Policy) -> float:
    """The error that a policy says it holds; 5 % of one that says none."""
    if not isinstance(policy, TestingPolicy):
        return BOUND
    return policy.parameters.alpha if policy.spends else policy.parameters.search_alpha


def _last_promotion(run: RunFolder) -> Promotion:
    paths = sorted(run.path.glob("gen-*/promotion.json"), key=lambda path: path.parent.name)
    if not paths:
        raise PromotionError(f"run {run.id} reached no verdict\n  name another run, or certify its suite")
    return read_promotion(paths[-1])


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UserError(f"--svg {path}: cannot be written: {error.strerror}") from error
