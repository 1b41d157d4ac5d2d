"""How `rulebook` is started: its program and ast-grep, by the interpreter that runs this project, isolated."""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from bench import __version__
from bench.agents.contract import ContractParser, session_input
from bench.agents.protocol import AgentFactory, SessionCommand, SessionRequest, StreamParser
from bench.agents.python import interpreter
from bench.config import AgentConfig, ModelConfig
from bench.digest import digest_bytes, digest_json, digest_tree
from bench.errors import AgentError
from bench.gateway import ModelProtocol
from bench.sandbox import Layout, ReadOnly

PROGRAM = Path(__file__).parent / "program"


def find_ast_grep() -> Path:
    """The ast-grep binary of the installed wheel `ast-grep-cli`. AgentError says how to install it."""
    try:
        files = distribution("ast-grep-cli").files or []
    except PackageNotFoundError:
        files = []
    for file in files:
        path = Path(str(file.locate())).resolve()
        if path.name == "ast-grep" and path.is_file():
            return path
    raise AgentError(
        "agent `rulebook` needs ast-grep, which comes with this project's install but is not there\n"
        "  install it again: pip install ast-grep-cli"
    )


class Rulebook:
    """The adapter of the built-in agent."""

    name = "rulebook"
    version = __version__
    deterministic = True
    calls_model = False
    skill_root = ".claude/skills"
    protocols: tuple[ModelProtocol, ...] = ()

    def __init__(self, ast_grep: Path) -> None:
        self._ast_grep = ast_grep
        self.sources: tuple[Path, ...] = (PROGRAM, ast_grep)
        self.digest = digest_json(
            [digest_tree(PROGRAM, suffixes=(".py",)), digest_bytes(ast_grep.read_bytes())]
        )

    def command(self, request: SessionRequest, layout: Layout) -> SessionCommand:
        """The interpreter without site-packages, the program, and where it finds ast-grep."""
        python, mounts = interpreter(layout)
        program, ast_grep = "/opt/rulebook/program", "/opt/rulebook/ast-grep"
        return SessionCommand(
            argv=(
                python, "-I", "-S", "-B", layout.seen(PROGRAM, program), layout.seen(self._ast_grep, ast_grep),
            ),
            stdin=session_input(request, layout),
            environment={},
            mounts=(*mounts, ReadOnly(PROGRAM, program), ReadOnly(self._ast_grep, ast_grep)),
        )  # fmt: skip

    def efforts(self, model: ModelConfig) -> tuple[str, ...] | None:  # noqa: ARG002 - the protocol of agents
        """It has no model."""
        return ()

    def parser(self, request: SessionRequest) -> StreamParser:  # noqa: ARG002 - the protocol of agents
        """The contract's parser."""
        return ContractParser()


class _RulebookFactory:
    """Makes the built-in agent, which has no options."""

    options_schema: Mapping[str, Any] = {"type": "object", "additionalProperties": False}

    def create(self, config: AgentConfig, root: Path) -> Rulebook:  # noqa: ARG002 - the protocol of factories
        return Rulebook(find_ast_grep())


RULEBOOK: AgentFactory = _RulebookFactory()
