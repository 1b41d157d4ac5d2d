"""Carries out a solution inside a cell, as an agent would. Run alone, with the standard library only.

Beside it lie `steps.json`, which says what to do in which order, and the files that the steps name.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path("/opt/solution")


def main() -> None:
    """Read the session contract's input, do every step, and report."""
    paths = json.loads(sys.stdin.read())["paths"]
    try:
        for step in json.loads((HERE / "steps.json").read_text(encoding="utf-8")):
            carry_out(step, Path(paths["workspace"]), paths["artifact"])
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", None) or str(error)
        report("gave_up", f"not carried out: {said.strip()[:500]}")
        return
    report("completed", "")


def carry_out(step: dict[str, str], tree: Path, artifact: str) -> None:
    """One step: a patch, text at the end of a file, a file's new content, or the session's artifact."""
    match step:
        case {"apply": name}:
            command = ["git", "apply", "--whitespace=nowarn", str(HERE / name)]
            subprocess.run(command, cwd=tree, check=True, capture_output=True, text=True)
        case {"append": path, "text": text}:
            with (tree / path).open("a", encoding="utf-8") as file:
                file.write(text)
        case {"write": path, "text": text}:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text, encoding="utf-8")
        case {"artifact": name}:
            shutil.copyfile(HERE / name, artifact)


def report(status: str, message: str) -> None:
    """The last line of a session."""
    print(json.dumps({"type": "result", "status": status, "message": message}), flush=True)


if __name__ == "__main__":
    main()
