"""Measures: tasks in, rows out."""

from importlib.metadata import PackageNotFoundError, version


def _version() -> str:
    try:
        return version("incumbent")
    except PackageNotFoundError:  # a source tree on sys.path that was never installed
        return "0+source"


__version__ = _version()

__all__ = ["__version__"]
