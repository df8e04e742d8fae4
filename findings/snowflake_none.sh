#!/usr/bin/env bash
# Under a frozen clock, a generator of ids yields None.
#
# One would expect: a generator that can't make a unique id at this moment waits, or raises an error.
# Seen: snowflake-id yields None instead, which a database takes for "choose one yourself". A generator that was made at import
# yields nothing else in a test that freezes an earlier moment, because the clock has gone back. One that is made in the test
# yields 4,095 ids, and then None until the clock moves.
# With snowflake-id 1.0.2, time-machine 3.6.0, Python 3.11.7; November 2026.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q snowflake-id==1.0.2 time-machine==3.6.0

cat > shown.py <<'PY'
import time_machine
from snowflake import SnowflakeGenerator

at_import = SnowflakeGenerator(1)
with time_machine.travel("2026-01-01T12:00:00Z", tick=False) as clock:
    print("made at import:  ", [next(at_import) for _ in range(3)])
    clock.shift(30)
    print("30 seconds later:", next(at_import))
    in_test = SnowflakeGenerator(1)
    ids = [next(in_test) for _ in range(5_000)]
    print(f"made in the test: {5_000 - ids.count(None):,} ids, {ids.count(None):,} times None")
    clock.shift(1)
    print("a second later:  ", type(next(in_test)).__name__)
PY

cat > seen.txt <<'TXT'
made at import:   [None, None, None]
30 seconds later: None
made in the test: 4,095 ids, 905 times None
a second later:   int
TXT
venv/bin/python shown.py | tee now.txt
diff seen.txt now.txt
