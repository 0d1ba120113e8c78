"""What `make bench` measures, each against a peer that does the same on the same machine in the same run.

stage    servers with fsync on, and stacks on them
report   the lines
intake   rows over HTTP
merge    partitions into one
files    Parquet files on one thread
retire   decay and reap; retire_s3: reap from a bucket
cleaner  store and catalog compared
"""

import os
import sys
from pathlib import Path

TREE = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("BUILD") or TREE / "build/release").absolute()
os.environ["TEST_BUILD"] = str(BUILD)  # which binaries the harness starts
for folder in ("tests/integration", "tests/peers"):
    sys.path.insert(0, str(TREE / folder))
