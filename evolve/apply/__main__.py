"""`python -m evolve.apply schemas` writes the generated schemas of this package into that folder."""

import sys
from pathlib import Path

from bench.generated_schema import write_schemas
from evolve.apply import apply_schemas

write_schemas(Path(sys.argv[1]), apply_schemas())
