#!/usr/bin/env bash
# Four of a rate limiter's five algorithms follow a mocked clock; the fifth doesn't.
#
# One would expect: which algorithm one picks decides how bursts are smoothed, and not which clock counts.
# Seen: two minutes after it was reached, a limit of one a minute is free again in fixed_window, sliding_window, token_bucket
# and leaking_bucket, and still reached in gcra, which counts monotonic time. So a test that moves the clock passes or fails
# with the name of the algorithm.
# With throttled-py 3.5.0, time-machine 3.6.0, Python 3.11.7; November 2026.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q throttled-py==3.5.0 time-machine==3.6.0

cat > shown.py <<'PY'
import time_machine
from throttled import Throttled, rate_limiter, store

for algorithm in ("fixed_window", "sliding_window", "token_bucket", "leaking_bucket", "gcra"):
    quota = rate_limiter.per_min(1, burst=1)
    limiter = Throttled(using=algorithm, quota=quota, store=store.MemoryStore())
    with time_machine.travel("2026-01-01T12:00:00Z", tick=False) as clock:
        first, second = (limiter.limit("ann").limited for _ in range(2))
        clock.shift(121)
        print(algorithm, first, second, limiter.limit("ann").limited)
PY

cat > seen.txt <<'TXT'
fixed_window False True False
sliding_window False True False
token_bucket False True False
leaking_bucket False True False
gcra False True True
TXT
venv/bin/python shown.py | tee now.txt
diff seen.txt now.txt
