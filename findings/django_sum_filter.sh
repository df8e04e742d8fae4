#!/usr/bin/env bash
# On SQLite, a sum that reads as exactly 0.30 isn't found by `<= 0.30`.
#
# One would expect: SQLite adds floats, so the sum of three prices of 0.10 reads as 0.30000000000000004, or Django's decimals
# hide that everywhere.
# Seen: Django hides it in what is read, which equals Decimal("0.30"). The comparison happens in SQL, with the float. So a query
# for those who have spent at most 0.30 leaves out who has spent 0.30.
# With Django 5.2.19, Python 3.11.7, SQLite 3.40.1; November 2026.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q Django==5.2.19

cat > shown.py <<'PY'
from decimal import Decimal

import django
from django.conf import settings

settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}})
django.setup()

from django.db import connection, models


class Charge(models.Model):
    customer = models.CharField(max_length=10)
    price = models.DecimalField(max_digits=10, decimal_places=4)

    class Meta:
        app_label = "shop"


with connection.schema_editor() as editor:
    editor.create_model(Charge)
for _ in range(3):
    Charge.objects.create(customer="ann", price=Decimal("0.10"))

limit = Decimal("0.30")
spent = Charge.objects.values("customer").annotate(spent=models.Sum("price"))
print("read:", spent.get()["spent"], spent.get()["spent"] == limit)
print("found by == and by <=:", spent.filter(spent=limit).count(), spent.filter(spent__lte=limit).count())
PY

cat > seen.txt <<'TXT'
read: 0.300000000000000 True
found by == and by <=: 0 0
TXT
venv/bin/python shown.py | tee now.txt
diff seen.txt now.txt
