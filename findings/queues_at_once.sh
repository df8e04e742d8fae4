#!/usr/bin/env bash
# The modes in which three queues run jobs at once, for tests, disagree about a retry and about a job that is due in an hour.
#
# One would expect: the mode only takes the worker away, so a job that is retried three times is retried, and one that is due in
# an hour isn't run now.
# Seen: a job that fails twice is called three times with Celery and huey, and once with RQ, where it stays failed with three
# retries left. A job that is due in an hour runs at once with Celery; with huey and RQ it waits for a worker, which there is none of.
# With Celery 5.7.0 (task_always_eager), huey 3.5.4 (immediate), RQ 3.0.0 (is_async=False) with fakeredis 2.41.0, Python 3.11.7;
# November 2026.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q celery==5.7.0 huey==3.5.4 rq==3.0.0 redis==8.1.0 fakeredis==2.41.0

cat > reminders.py <<'PY'
calls = []


def send():
    calls.append("send")
    if len(calls) < 3:
        raise ConnectionError("the provider is away")


def remind():
    calls.append("remind")
PY
cat > shown.py <<'PY'
import logging
from datetime import timedelta

import fakeredis
from celery import Celery
from huey import MemoryHuey
from rq import Queue, Retry

from reminders import calls, remind, send

logging.disable(logging.CRITICAL)
celery = Celery("shop")
celery.conf.task_always_eager = True
huey = MemoryHuey(immediate=True)
rq = Queue(is_async=False, connection=fakeredis.FakeStrictRedis())

retried = celery.task(autoretry_for=(ConnectionError,), max_retries=3, default_retry_delay=0)(send)
modes = {
    "Celery": (retried.delay, lambda: celery.task(remind).apply_async(countdown=3_600)),
    "huey": (huey.task(retries=3)(send), lambda: huey.task()(remind).schedule(delay=3_600)),
    "RQ": (
        lambda: rq.enqueue(send, retry=Retry(max=3)),
        lambda: rq.enqueue_in(timedelta(hours=1), remind),
    ),
}
for name, puts in modes.items():
    numbers = []
    for put in puts:
        calls.clear()
        put()
        numbers.append(len(calls))
    print("{}: called {} with retries; {} of a job in an hour".format(name, *numbers))
PY

cat > seen.txt <<'TXT'
Celery: called 3 with retries; 1 of a job in an hour
huey: called 3 with retries; 0 of a job in an hour
RQ: called 1 with retries; 0 of a job in an hour
TXT
venv/bin/python shown.py | tee now.txt
diff seen.txt now.txt
