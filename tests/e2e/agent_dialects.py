"""How each real agent is told by a model to do the same things. A new adapter adds its dialect here."""

import pytest

from tests.e2e.agent_rig import SKILL, Dialect

# of a cache write that does not say how long it is kept, the dearest
HAIKU = {"input": 1, "cache_read": 0.1, "cache_write": 2, "output": 5}

CLAUDE_CODE = Dialect(
    agent="claude_code",
    model="claude_haiku_4_5",
    provider="anthropic",
    rates=HAIKU,
    tools={
        "skill": {"name": "Skill", "input": {"skill": SKILL}},
        "read-skill": {"name": "Skill", "input": {"skill": "ARGUMENT"}},
        "write-review": {
            "name": "Write",
            "input": {"file_path": "/output/review.json", "content": "ARGUMENT"},
        },
        "no-skill": {"name": "Skill", "input": {"skill": "no-such-skill"}},
        "answer": {"name": "Write", "input": {"file_path": "answer.txt", "content": "42\n"}},
        "shell": {"name": "Bash", "input": {"command": "ARGUMENT", "description": "look"}},
        "forbidden": {"name": "WebFetch", "input": {"url": "https://example.org", "prompt": "read"}},
        "subagent": {
            "name": "Agent",
            "input": {"description": "look", "prompt": "Look around.", "subagent_type": "general-purpose"},
        },
    },
)

CODEX = Dialect(
    agent="codex",
    model="gpt_5_5",
    provider="openai",
    rates={"input": 4, "cache_read": 0.5, "cache_write": 6, "output": 30},
    tools={
        "skill": {"name": "exec_command", "input": {"cmd": f"cat .agents/skills/{SKILL}/SKILL.md"}},
        "read-skill": {"name": "exec_command", "input": {"cmd": "cat .agents/skills/ARGUMENT/SKILL.md"}},
        "write-review": {
            "name": "exec_command",
            "input": {"cmd": "cat > /output/review.json <<'END'\nARGUMENT\nEND"},
        },
        "no-skill": {"name": "exec_command", "input": {"cmd": "cat .agents/skills/no-such-skill/SKILL.md"}},
        "answer": {
            "name": "apply_patch",
            "text": "*** Begin Patch\n*** Add File: answer.txt\n+42\n*** End Patch\n",
        },
        "shell": {"name": "exec_command", "input": {"cmd": "ARGUMENT"}},
        "forbidden": {"name": "web_search", "input": {"query": "the answer"}},
    },
)

OPENCODE = Dialect(
    agent="opencode",
    seconds=40,
    # what is no answer in the protocol, it takes for a step and asks again, at once, until the gateway ends that
    model="claude_haiku_4_5",
    provider="anthropic",
    # of a cache write, its protocol says how long it is kept
    rates={**HAIKU, "cache_write": 1.25},
    tools={
        "skill": {"name": "skill", "input": {"name": SKILL}},
        "read-skill": {"name": "skill", "input": {"name": "ARGUMENT"}},
        "write-review": {
            "name": "write",
            "input": {"filePath": "/output/review.json", "content": "ARGUMENT"},
        },
        "no-skill": {"name": "skill", "input": {"name": "no-such-skill"}},
        "answer": {"name": "write", "input": {"filePath": "/workspace/answer.txt", "content": "42\n"}},
        "shell": {"name": "bash", "input": {"command": "ARGUMENT", "description": "look"}},
        "forbidden": {"name": "webfetch", "input": {"url": "https://example.org", "format": "text"}},
        "subagent": {
            "name": "task",
            "input": {"description": "look", "prompt": "Look around.", "subagent_type": "general"},
        },
    },
)

PI = Dialect(
    agent="pi",
    seconds=30,
    model="claude_haiku_4_5",
    provider="anthropic",
    rates=HAIKU,
    options=("agent.options.protocol=anthropic_messages",),
    tools={
        "skill": {"name": "read", "input": {"path": f"/workspace/.claude/skills/{SKILL}/SKILL.md"}},
        "read-skill": {
            "name": "read",
            "input": {"path": "/workspace/.claude/skills/ARGUMENT/SKILL.md"},
        },
        "write-review": {"name": "write", "input": {"path": "/output/review.json", "content": "ARGUMENT"}},
        "no-skill": {"name": "read", "input": {"path": "/workspace/.claude/skills/no-such-skill/SKILL.md"}},
        "answer": {"name": "write", "input": {"path": "answer.txt", "content": "42\n"}},
        "shell": {"name": "bash", "input": {"command": "ARGUMENT"}},
        "forbidden": {"name": "web_fetch", "input": {"url": "https://example.org"}},
    },
)

DIALECTS = (
    CLAUDE_CODE,
    CODEX,
    # theirs is the same adapter contract at twice the time: `nox -s slow` runs them
    pytest.param(OPENCODE, marks=pytest.mark.slow),
    pytest.param(PI, marks=pytest.mark.slow),
)


def agent_of(dialect: Dialect) -> str:
    """How a test names its agent."""
    return dialect.agent
