"""Finding a policy by its name."""

from collections.abc import Mapping
from typing import Any

from bench.config import PromotionConfig
from bench.extensions import load_extension
from evolve.gate.model import Policy, PolicyFactory


def load_policy(promotion: PromotionConfig) -> Policy:
    """The configured policy. ExtensionError for an unknown name, ConfigError for wrong options."""
    return policy_named(promotion.policy, promotion.options)


def policy_named(name: str, options: Mapping[str, Any]) -> Policy:
    """The policy of this name with these options; errors as for `load_policy`."""
    factory: PolicyFactory = load_extension("policies", name)
    return factory.create(options)
