#!/usr/bin/env bash
# A throttle lives half in freezegun's time and half in real time, and refuses what production allows.
#
# One would expect: under freezegun the throttle follows, as the cache that keeps its history does; or neither does.
# Seen: the throttle's class took time.time when it was imported, which freezegun can't replace, so the history has real
# moments; the cache that keeps it expires by freezegun's time. With two requests a minute, the third, 61 s after the first, is
# refused, since hardly any real time has passed. Under time-machine it is allowed, as in production.
# With djangorestframework 3.18.3, Django 5.2.19, freezegun 1.5.5, time-machine 3.6.0, Python 3.11.7; November 2026.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q djangorestframework==3.18.3 Django==5.2.19 freezegun==1.5.5 time-machine==3.6.0

cat > shown.py <<'PY'
import django
import time_machine
from django.conf import settings
from freezegun import freeze_time

settings.configure(
    INSTALLED_APPS=["rest_framework"],
    REST_FRAMEWORK={"UNAUTHENTICATED_USER": None, "DEFAULT_AUTHENTICATION_CLASSES": []},
)
django.setup()

from django.core.cache import cache
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory
from rest_framework.throttling import AnonRateThrottle
from rest_framework.views import APIView


class TwoAMinute(AnonRateThrottle):
    rate = "2/min"


class Page(APIView):
    throttle_classes = [TwoAMinute]

    def get(self, request):
        return Response("ok")


def statuses(move):
    cache.clear()
    found = []
    for seconds in (0, 40, 21):
        move(seconds)
        found.append(Page.as_view()(APIRequestFactory().get("/")).status_code)
    return found


with freeze_time("2026-01-01T12:00:00Z") as clock:
    print("freezegun", statuses(clock.tick))
with time_machine.travel("2026-01-01T12:00:00Z", tick=False) as clock:
    print("time-machine", statuses(clock.shift))
PY

cat > seen.txt <<'TXT'
freezegun [200, 200, 429]
time-machine [200, 200, 200]
TXT
venv/bin/python shown.py | tee now.txt
diff seen.txt now.txt
