"""Composing, validating, the frozen configuration (the only importer of Hydra and OmegaConf)."""

from bench.config.complaint import Complaint, KeyPath, dotted, refuse
from bench.config.composed import CommandName, Composed, ComposedFile, Shadowing
from bench.config.folders import ConfigFolder, search_folders
from bench.config.inspect import explain, resolved_yaml, tree, which
from bench.config.load import load_config
from bench.config.model import (
    AgentConfig,
    ArmSpec,
    BudgetConfig,
    CampaignBudget,
    CellBudget,
    Config,
    DerivedTool,
    ExecutorConfig,
    FolderTool,
    LimitsConfig,
    ModelConfig,
    PromotionConfig,
    ProposerConfig,
    ReuseConfig,
    Role,
    SandboxConfig,
    ServerTool,
    SessionKind,
    SessionSpec,
    SkillSpec,
    SuiteConfig,
    TaskFilter,
    Tool,
)
from bench.config.prompts import read_prompt
from bench.config.resources import conf_folder, load_schema, schemas_folder
from bench.config.root import ProjectMarker, find_root, read_marker
from bench.config.saved import config_digest, read_saved_config, saved_config
from bench.config.schema_errors import schema_complaints

__all__ = [
    "AgentConfig",
    "ArmSpec",
    "BudgetConfig",
    "CampaignBudget",
    "CellBudget",
    "CommandName",
    "Complaint",
    "Composed",
    "ComposedFile",
    "Config",
    "ConfigFolder",
    "DerivedTool",
    "ExecutorConfig",
    "FolderTool",
    "KeyPath",
    "LimitsConfig",
    "ModelConfig",
    "ProjectMarker",
    "PromotionConfig",
    "ProposerConfig",
    "ReuseConfig",
    "Role",
    "SandboxConfig",
    "ServerTool",
    "SessionKind",
    "SessionSpec",
    "Shadowing",
    "SkillSpec",
    "SuiteConfig",
    "TaskFilter",
    "Tool",
    "conf_folder",
    "config_digest",
    "dotted",
    "explain",
    "find_root",
    "load_config",
    "load_schema",
    "read_marker",
    "read_prompt",
    "read_saved_config",
    "refuse",
    "resolved_yaml",
    "saved_config",
    "schema_complaints",
    "schemas_folder",
    "search_folders",
    "tree",
    "which",
]
