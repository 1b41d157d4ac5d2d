"""Starts this folder as a program: `python3 -I -S FOLDER AST_GREP_PATH`, session/1 on stdin, JSON lines on stdout."""

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    # The folder stands alone in the sandbox, so it has to become a package by itself, under whatever name it has there.
    folder = Path(__file__).resolve().parent
    sys.dont_write_bytecode = True
    sys.path[0] = str(folder.parent)
    import_module(folder.name).main()
