"""Release tests: what one needs before anything is paid, and the command that asks for one."""

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.config import Config
from bench.errors import ConfigError
from bench.project import RUNS
from evolve.campaign import Campaign
from evolve.errors import PromotionError
from evolve.gate import Policy, spends
from evolve.history import Judgement

# what a search is asked with, and a release test differently
_OF_THE_SEARCH = re.compile(
    r"[+~]*(generations|proposer|reuse|campaign|tasks|promotion\.split|promotion\.options\.(tier|search_alpha))([.=@]|$)"
)
_EXPERIMENT = re.compile(r"[+~]*experiment=")
_SPELLED_OUT = (
    "promotion.options.tier=release",
    "promotion.split=holdout",
    "tasks.split=holdout",
    "reuse=none",
    "campaign=main",
)
OF_REVIEWS = frozenset({"weighted_f1", "verdict_right"})


def release_campaign(config: Config, policy: Policy, root: Path) -> Campaign | None:
    """The campaign that a release test spends from, checked before anything is paid; None where nothing is spent."""
    if not spends(policy):
        return None
    lacking = tuple(_lacking(config))
    if lacking or config.campaign is None:
        raise ConfigError("\n".join(f"promotion={policy.name} with tier=release {each}" for each in lacking))
    campaign = Campaign(root, config.campaign)
    campaign.read()
    return campaign


def release_test(config: Config, policy: Policy, root: Path) -> int:
    """Which release test of its campaign the next verdict would be; 1 where none is spent, or no campaign named."""
    if not spends(policy) or config.campaign is None:
        return 1
    return Campaign(root, config.campaign).read().tests + 1


def refuse_unreleased(pending: Judgement | None, policy: Policy) -> None:
    """PromotionError for a release test that would build on a champion which no test has released."""
    if spends(policy) and pending is not None and pending.searched:
        raise PromotionError(
            f"run {pending.run} only moved the champion (tier=search): a release test is against the skills that were "
            "last released\n  test all of the champion: "
            f"proposer=manual proposer.options.overlay={RUNS}/{pending.run}/champion"
        )


def refuse_unmeasurable(config: Config, policy: Policy) -> None:
    """ConfigError for a number of reviews where no candidate reviews anything: every cell would be unknown."""
    kinds = {
        session.kind
        for arm in config.arms.values()
        if arm.role == "candidate"
        for session in arm.sessions.values()
    }
    if policy.metric in OF_REVIEWS and kinds and "review" not in kinds:
        raise ConfigError(
            f"promotion={policy.name} compares {policy.metric}, which reviews have, and no candidate arm reviews\n"
            "  compare outcomes: promotion.options.endpoint=resolved; or what work takes: experiment=implementation"
        )


def release_command(words: Sequence[str], policy: str, run: str) -> str:
    """The command that tests a run's champion for release, given the words that the run was started with."""
    kept = [word for word in words if not _OF_THE_SEARCH.match(word)]
    champion = ["proposer=manual", f"proposer.options.overlay={RUNS}/{run}/champion"]
    if any(_EXPERIMENT.match(word) for word in kept):
        named = [] if any(word.startswith("promotion=") for word in kept) else [f"promotion={policy}"]
        return shlex.join(["evolve", *kept, *named, *_SPELLED_OUT, *champion])
    return shlex.join(["evolve", *kept, "experiment=release", *champion])


def _lacking(config: Config) -> Iterator[str]:
    """What a release test needs and does not have."""
    if config.campaign is None:
        yield (
            "spends from a campaign's error budget, and none is named\n"
            "  name one: campaign=NAME; or let the champion move without releasing: promotion.options.tier=search"
        )
    if config.reuse.source != "none":
        yield (
            "promotes on rows of its own sweep only, and would be charged for earlier ones, too\n"
            "  measure every cell: reuse=none"
        )
    if config.promotion is not None and config.promotion.split != "holdout":
        yield (
            "counts the tasks that no proposer knows\n"
            "  promotion.split=holdout; experiment=release sets all that a release test needs"
        )
