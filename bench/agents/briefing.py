"""What a coding agent is told in words: the prompt, and where things are."""

from bench.agents.protocol import SessionRequest

_RESULT = {
    "review": "Write the review to the file `{path}` (the artifact path), which lies outside the repository.",
    "plan": "Write the plan to the file `{path}` (the artifact path), which lies outside the repository.",
}


def briefing(request: SessionRequest) -> str:
    """The prompt of a session with the places that it speaks of. The task's id is not told."""
    lines = [request.prompt.rstrip(), ""]
    if request.kind in _RESULT:
        lines.append(_RESULT[request.kind].format(path=request.artifact))
    if request.plan is not None:
        lines.append(f"The plan to follow is the file `{request.plan}`.")
    lines += [
        f"The tool `{tool.name}` is at `{tool.path}`." for tool in request.tools if tool.path is not None
    ]
    return "\n".join(lines).rstrip() + "\n"
