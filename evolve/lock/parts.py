"""What a generation reads, part by part, as names and digests. A lock and a check of it both ask here."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

import evolve as package
from bench.agents import Agent
from bench.config import Config
from bench.digest import digest_bytes, digest_file, digest_json, digest_tree
from bench.environments import prepared_digest
from bench.harness import OWN, read_harness
from bench.sandbox import Sandbox
from bench.skills import Skill, read_family
from bench.spend import PriceTable
from bench.suite import Suite, frame_digest, task_digests
from bench.sweep import Plan, tools_digest
from evolve.lock.model import Parts

_SECRET = "secret://env/"  # noqa: S105 - what a reference to one begins with
MARKER = "evolve.toml"
PROPOSER = "proposer: "  # what the names of its own things begin with


def of_suite(suite: Suite) -> Parts:
    """Its tasks, each in four parts that do not overlap."""
    digests = {f"task {task.id}": task_digests(task) for task in suite.tasks}
    return {
        "suite": {f"task {task.id}": frame_digest(task) for task in suite.tasks},
        "prompt": {name: each.prompt for name, each in digests.items()},
        "oracle": {name: digest_json([each.oracle, each.oracle_command]) for name, each in digests.items()},
        "environment": {name: each.dependencies for name, each in digests.items()},
    }


def of_prepared(suite: Suite, root: Path, *, contained: bool) -> Parts:
    """The files of the environments that were prepared for its tasks."""
    asked = {task.environment: task.id for task in suite.tasks if task.environment.requirements is not None}
    found = {
        f"prepared for task {task}": prepared_digest(root, each, contained=contained)
        for each, task in asked.items()
    }
    return {"environment": found}


def of_prompts(prompts: Mapping[str, str]) -> Parts:
    """The prompt files of sessions."""
    return {"prompt": {name: digest_bytes(text.encode()) for name, text in prompts.items()}}


def of_skills(skills: Mapping[str, Skill]) -> Parts:
    """The project's own skills, as arms load them."""
    return {"skill": {name: skill.digest for name, skill in skills.items()}}


def of_plugins(config: Config, root: Path) -> Parts:
    """The skills that arms have of other families."""
    return {
        "plugin": {
            f"{name}: {skill}": found.digest
            for name, arm in config.arms.items()
            if arm.family is not None
            for skill, found in read_family(root / arm.family, arm.skills).items()
        }
    }


def of_tools(config: Config, root: Path) -> Parts:
    """What the tools of each arm show."""
    found = {name: tools_digest(root, arm) for name, arm in config.arms.items()}
    return {"tool": {f"arm {name}": digest for name, digest in found.items() if digest is not None}}


def of_agent(agent: Agent) -> Parts:
    """The agent's program."""
    return {"agent": {f"{agent.name}: version": agent.version, f"{agent.name}: program": agent.digest}}


def of_proposer(agent: Agent, prompt: str) -> Parts:
    """The agent and the prompt file of a proposing session."""
    return {
        "agent": {f"{PROPOSER}{key}": value for key, value in of_agent(agent)["agent"].items()},
        "prompt": {f"{PROPOSER}its prompt": digest_bytes(prompt.encode())},
    }


def of_sandbox(sandbox: Sandbox) -> Parts:
    """How commands are confined."""
    return {"sandbox-policy": dict(sandbox.describe())}


def of_prices(prices: PriceTable) -> Parts:
    """The table of prices."""
    return {"price-table": {"all models": prices.digest}}


def of_harness(config: Config) -> Parts:
    """This program with its extensions, the Python, and every distribution that they need."""
    used = [("agents", config.agent.name), ("sandboxes", config.sandbox.name)]
    if config.promotion is not None:
        used.append(("policies", config.promotion.policy))
    if config.proposer is not None:
        used.append(("proposers", config.proposer.name))
    harness = read_harness(used)
    deciding = digest_tree(Path(package.__file__).parent, suffixes=(".py",))
    code = {f"code of {name}": digest for name, digest in harness.code.items()}
    python = " ".join(harness.python.split())
    return {
        "harness": {"Python": python, **code, f"code of {OWN}, deciding": deciding},
        "dependency": {name: version for name, version in harness.distributions.items() if name != OWN},
    }


def of_composition(files: Mapping[str, str], root: Path) -> Parts:
    """The files that were composed, and the one that marks the project."""
    return {"configuration-file": {**files, MARKER: digest_file(root / MARKER)}}


def of_plan(plan: Plan) -> Parts:
    """The cells in their order, with the rows that stand for some of them; and the seed that chose among them."""
    content = msgspec.to_builtins(plan)
    seed = content.pop("seed")
    return {"plan": {"cells": digest_json(content)}, "seed": {"plan": str(seed)}}


def of_overlays(candidate: str, start: str | None) -> Parts:
    """What is tried, and what the run was built on."""
    return {"overlay": {"candidate": candidate, **({} if start is None else {"built on": start})}}


def secrets_of(value: Any) -> Iterator[str]:
    """The names of the environment variables that a configuration refers to."""
    if isinstance(value, str) and value.startswith(_SECRET):
        yield value.removeprefix(_SECRET)
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from secrets_of(each)


def merged(*parts: Parts) -> Parts:
    """All parts as one."""
    found: Parts = {}
    for part in parts:
        for kind, items in part.items():
            found.setdefault(kind, {}).update(items)
    return {kind: dict(sorted(items.items())) for kind, items in sorted(found.items())}
