#!/usr/bin/env bash
# Once a Litestar app has been created, pytest's caplog records nothing more.
#
# One would expect: a web framework may configure its own logger; what an app logs elsewhere still reaches caplog, as with
# Flask, Django or FastAPI.
# Seen: creating an app replaces the handlers of the root logger, and caplog's among them. A test that creates its app and then
# asserts on caplog sees no record, neither of the app nor of any other library. With logging_config=None it sees them.
# With litestar 2.25.0, pytest 9.2.0, Python 3.11.7; November 2026.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q litestar==2.25.0 pytest==9.2.0

cat > test_shown.py <<'PY'
import logging

import pytest
from litestar import Litestar


@pytest.mark.parametrize("options", [{}, {"logging_config": None}], ids=["as it is", "no logging_config"])
def test_caplog(caplog, options, request):
    logging.getLogger("shop").error("before")
    Litestar([], **options)
    logging.getLogger("shop").error("after")
    with open("now.txt", "a") as file:
        print(request.node.callspec.id, caplog.messages, file=file)
PY

cat > seen.txt <<'TXT'
as it is ['before']
no logging_config ['before', 'after']
TXT
venv/bin/python -m pytest -q -p no:cacheprovider test_shown.py > pytest.txt || cat pytest.txt
cat now.txt
diff seen.txt now.txt
