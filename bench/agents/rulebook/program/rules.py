"""The ast-grep rules that stand in the Markdown of skills and tools, read without a YAML parser."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .contract import Session, SessionProblem, Skill, Tool, Transcript
from .text import counted, shown

_FENCED_BLOCK = re.compile(
    r"""^(?P<indent>[ ]{0,3})(?P<fence>(?P<mark>[`~])(?P=mark){2,})[ \t]*(?P<language>[^\s`]*)[^`\n]*(?:\n|\Z)
        (?P<content>.*?)
        (?:^[ ]{0,3}(?P=fence)(?P=mark)*[ \t]*$|\Z)""",
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
_NEXT_DOCUMENT = re.compile(r"^---(?:[ \t].*)?$\n?", re.MULTILINE)
_HAS_ID = re.compile(r"^id:(?=\s|$)", re.MULTILINE)
_HAS_RULE = re.compile(r"^rule:(?=\s|$)", re.MULTILINE)
_READABLE_ID = re.compile(
    r"""^id:[ \t]+(?P<quote>["']?)(?P<id>[^\s"'#>|&*!{\[][^"'#\n]*?)(?P=quote)[ \t]*(?:[ \t]\#.*)?$""",
    re.MULTILINE | re.VERBOSE,
)


@dataclass(frozen=True)
class Rule:
    """One rule, and the place where it stands; `identifier` is None where its id is not a plain or quoted word."""

    identifier: str | None
    text: str
    source: str


def read_rules(session: Session, transcript: Transcript) -> list[Rule]:
    """The rules of all skills, then those of the tools, in the order of the session and then of the paths."""
    rules: list[Rule] = []
    for skill in session.skills:
        try:
            rules.extend(_rules_of_skill(skill, session.workspace))
        except (OSError, SessionProblem) as problem:
            transcript.skill(skill.name, ok=False)
            raise SessionProblem(f"The skill {skill.name!r} cannot be read: {problem}") from problem
        transcript.step()
        transcript.skill(skill.name, ok=True)
    for tool in session.tools:
        found = _rules_of_tool(tool, session.workspace)
        transcript.step()
        transcript.message(f"Read {counted(len(found), 'rule')} from the tool {tool.name!r}.")
        rules.extend(found)
    _refuse_duplicates(rules)
    return rules


def rules_in_markdown(markdown: str, name: str) -> Iterator[Rule]:
    """The rules in the fenced yaml blocks of a file; a block may hold several, divided by `---`."""
    for block in _FENCED_BLOCK.finditer(markdown):
        if block["language"] != "yaml":
            continue
        content = re.sub(rf"^ {{0,{len(block['indent'])}}}", "", block["content"], flags=re.MULTILINE)
        line = markdown.count("\n", 0, block.start()) + 1
        for document in _NEXT_DOCUMENT.split(content):
            if _HAS_ID.search(document) and _HAS_RULE.search(document):
                identifier = _READABLE_ID.search(document)
                yield Rule(
                    identifier["id"] if identifier else None, document, f"{name} (block at line {line})"
                )


def _rules_of_skill(skill: Skill, workspace: Path) -> list[Rule]:
    if not (skill.folder / "SKILL.md").is_file():
        raise SessionProblem(f"there is no file {shown(os.fsencode(skill.folder))}/SKILL.md.")
    return _rules_of_folder(skill.folder, workspace)


def _rules_of_tool(tool: Tool, workspace: Path) -> list[Rule]:
    if not tool.folder.is_dir():
        raise SessionProblem(
            f"The tool {tool.name!r} cannot be read: there is no folder {shown(os.fsencode(tool.folder))}."
        )
    try:
        return _rules_of_folder(tool.folder, workspace)
    except (OSError, SessionProblem) as problem:
        raise SessionProblem(f"The tool {tool.name!r} cannot be read: {problem}") from problem


def _rules_of_folder(folder: Path, workspace: Path) -> list[Rule]:
    files = sorted(path for path in folder.rglob("*.md") if path.is_file())
    return [rule for file in files for rule in _rules_of_file(file, workspace)]


def _rules_of_file(file: Path, workspace: Path) -> Iterator[Rule]:
    name = shown(os.fsencode(file.relative_to(workspace) if file.is_relative_to(workspace) else file))
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SessionProblem(f"{name} is not UTF-8: {error}.") from error
    if "\0" in text:
        raise SessionProblem(f"{name} holds a NUL character, which is not text.")
    return rules_in_markdown(text.replace("\r\n", "\n"), name)


def _refuse_duplicates(rules: Sequence[Rule]) -> None:
    """Findings name their rule by its id, so an id must mean one rule."""
    first: dict[str, Rule] = {}
    for rule in rules:
        other = first.setdefault(rule.identifier, rule) if rule.identifier else rule
        if other is not rule:
            raise SessionProblem(
                f"The rule id {rule.identifier!r} is used twice: in {other.source} and in {rule.source}. "
                "Give one of the two another id."
            )
