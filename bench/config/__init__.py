"""Composing, validating, the frozen configuration (the only importer of Hydra and OmegaConf)."""

from bench.config.composed import CommandName, Composed, ComposedFile, Shadowing
from bench.config.inspect import explain, resolved_yaml, tree, which
from bench.config.load import load_config
from bench.config.model import (
    AgentConfig,
    ArmSpec,
    BudgetConfig,
    Config,
    ExecutorConfig,
    LimitsConfig,
    ModelConfig,
    PromotionConfig,
    ProposerConfig,
    ReuseConfig,
    Role,
    SandboxConfig,
    SessionKind,
    SessionSpec,
    SkillSpec,
    SuiteConfig,
    TaskFilter,
)
from bench.config.prompts import read_prompt
from bench.config.resources import conf_folder, load_schema, schemas_folder
from bench.config.root import ProjectMarker, find_root, read_marker
from bench.config.saved import config_digest, read_saved_config, saved_config

__all__ = [
    "AgentConfig",
    "ArmSpec",
    "BudgetConfig",
    "CommandName",
    "Composed",
    "ComposedFile",
    "Config",
    "ExecutorConfig",
    "LimitsConfig",
    "ModelConfig",
    "ProjectMarker",
    "PromotionConfig",
    "ProposerConfig",
    "ReuseConfig",
    "Role",
    "SandboxConfig",
    "SessionKind",
    "SessionSpec",
    "Shadowing",
    "SkillSpec",
    "SuiteConfig",
    "TaskFilter",
    "conf_folder",
    "config_digest",
    "explain",
    "find_root",
    "load_config",
    "load_schema",
    "read_marker",
    "read_prompt",
    "read_saved_config",
    "resolved_yaml",
    "saved_config",
    "schemas_folder",
    "tree",
    "which",
]
