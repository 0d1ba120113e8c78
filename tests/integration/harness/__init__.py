"""What integration tests stand on: real servers, the built binaries, and one place that waits.

servers   the PostgreSQL and RabbitMQ of the whole run; a database and a vhost for each test
program   a binary that runs, or has run
proxy     a wire that can be cut
s3peer    an S3 server that misbehaves on request
swift     a second real S3 server, stricter than the first
store     calls of the store, one by one
contents  what a store holds, seen from outside
stack     what a test holds in its hands
"""

import sys
from pathlib import Path

TREE = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TREE / "deploy/local"))  # the servers are started by the code that starts the local stack
