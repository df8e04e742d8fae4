#!/usr/bin/env bash
# After an insert that did nothing, the "inserted" primary key is that of another row.
#
# One would expect: if ON CONFLICT DO NOTHING drops a duplicate event, inserted_primary_key is empty, or is the key of the row
# that was there before.
# Seen: on SQLite it is the key of the row that the connection inserted last, here of another event. Only rowcount says that
# nothing was inserted. So what a webhook handler then stores for the duplicate lands at another event.
# With SQLAlchemy 2.1.9, Python 3.11.7, SQLite 3.40.1; November 2026.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q SQLAlchemy==2.1.9

cat > shown.py <<'PY'
from sqlalchemy import Column, Integer, MetaData, String, Table, create_engine
from sqlalchemy.dialects.sqlite import insert

engine = create_engine("sqlite://")
metadata = MetaData()
events = Table(
    "events", metadata, Column("id", Integer, primary_key=True), Column("event", String, unique=True)
)
metadata.create_all(engine)
with engine.begin() as connection:
    for event in ("delivered", "read", "delivered"):
        statement = insert(events).values(event=event).on_conflict_do_nothing()
        result = connection.execute(statement)
        print(event, "rowcount", result.rowcount, "key", *result.inserted_primary_key)
PY

cat > seen.txt <<'TXT'
delivered rowcount 1 key 1
read rowcount 1 key 2
delivered rowcount 0 key 2
TXT
venv/bin/python shown.py | tee now.txt
diff seen.txt now.txt
