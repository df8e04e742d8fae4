#!/usr/bin/env bash
# After one test has moved the clock a month ahead, the version-7 UUIDs of all later tests are of that month.
#
# One would expect: a version-7 UUID begins with the present, so it follows a mocked clock, as a ULID does.
# Seen: uuid6 remembers the last timestamp of the process, so that ids grow, and never gives an earlier one. Once the clock is
# back, each id is a millisecond after the last one, a month ahead, and moving the clock changes nothing. Alone, the same test
# gets the right time. python-ulid follows the clock in both directions.
# With uuid6 2025.0.1, python-ulid 4.1.0, time-machine 3.6.0, Python 3.11.7; November 2026.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q uuid6==2025.0.1 python-ulid==4.1.0 time-machine==3.6.0

cat > shown.py <<'PY'
from datetime import UTC, datetime

import time_machine
import ulid
import uuid6


def show(test):
    moment = datetime.fromtimestamp((uuid6.uuid7().int >> 80) / 1000, UTC)
    print(f"{test}: uuid7 of {moment:%d %B %H:%M}, ULID of {ulid.ULID().datetime:%d %B %H:%M}")


with time_machine.travel("2026-01-01T12:00:00Z", tick=False) as clock:
    clock.shift(30 * 86_400)
    show("first test, a month later")
with time_machine.travel("2026-01-01T12:00:00Z", tick=False) as clock:
    show("second test")
    clock.shift(3_600)
    show("second test, an hour later")
PY

cat > seen.txt <<'TXT'
first test, a month later: uuid7 of 31 January 12:00, ULID of 31 January 12:00
second test: uuid7 of 31 January 12:00, ULID of 01 January 12:00
second test, an hour later: uuid7 of 31 January 12:00, ULID of 01 January 13:00
TXT
venv/bin/python shown.py | tee now.txt
diff seen.txt now.txt
