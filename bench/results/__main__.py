"""`python -m bench.results schemas` writes the generated schemas of this package into that folder."""

import sys
from pathlib import Path

from bench.generated_schema import write_schemas
from bench.results import row_schema
from bench.scoring import review_schema

write_schemas(Path(sys.argv[1]), {"review": review_schema(), "row": row_schema()})
