"""What the sessions of the noxfile leave out."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
MARK = "mark" + ".e2e"


def the_folders_of_the_session() -> list[str]:
    for node in ast.parse((ROOT / "noxfile.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "END_TO_END":
            return list(ast.literal_eval(node.value))
    raise AssertionError("the noxfile names no END_TO_END")


def test_every_end_to_end_test_lies_where_its_session_looks() -> None:
    folders = the_folders_of_the_session()
    marked = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("*.py")
        if MARK in path.read_text() and path != Path(__file__)
    }
    assert marked
    assert [path for path in marked if not path.startswith(tuple(folders))] == []
