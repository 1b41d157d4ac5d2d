"""How each real agent is told by a model to do the same things. A new adapter adds its dialect here."""

from tests.e2e.agent_rig import SKILL, Dialect

CLAUDE_CODE = Dialect(
    agent="claude_code",
    model="claude_haiku_4_5",
    protocol="anthropic_messages",
    tools={
        "skill": {"name": "Skill", "input": {"skill": SKILL}},
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

OPENCODE = Dialect(
    agent="opencode",
    seconds=40,
    model="claude_haiku_4_5",
    protocol="openai_chat",
    tools={
        "skill": {"name": "skill", "input": {"name": SKILL}},
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
    protocol="anthropic_messages",
    options=("agent.options.protocol=anthropic_messages",),
    tools={
        "skill": {"name": "read", "input": {"path": f"/workspace/.claude/skills/{SKILL}/SKILL.md"}},
        "no-skill": {"name": "read", "input": {"path": "/workspace/.claude/skills/no-such-skill/SKILL.md"}},
        "answer": {"name": "write", "input": {"path": "answer.txt", "content": "42\n"}},
        "shell": {"name": "bash", "input": {"command": "ARGUMENT"}},
        "forbidden": {"name": "web_fetch", "input": {"url": "https://example.org"}},
    },
)

DIALECTS = (CLAUDE_CODE, OPENCODE, PI)
