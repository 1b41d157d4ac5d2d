"""`python -m larder` is the `larder` command."""

from __future__ import annotations

import sys

from larder.cli import main

if __name__ == "__main__":
    sys.exit(main())
