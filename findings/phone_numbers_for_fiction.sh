#!/usr/bin/env bash
# Of the telephone numbers that regulators reserve for fiction, some countries' are valid, and others' aren't.
#
# One would expect: a number that will never have a subscriber is refused everywhere, or accepted everywhere, so that a test's
# recipient from a reserved range behaves in the same way in each country.
# Seen: libphonenumber's Python port calls the reserved numbers of the United States (area code 202) and Australia valid, and
# those of the United Kingdom and France invalid, though all of them are possible. So a sender that checks
# is_valid_number() refuses a British test's number and accepts an American one.
# With phonenumbers 9.0.43, Python 3.11.7; November 2026.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q phonenumbers==9.0.43

cat > shown.py <<'PY'
import phonenumbers

reserved = {
    "United States, 555-01xx": "+12025550101",
    "Australia, 0491 570 xxx": "+61491570156",
    "United Kingdom, 07700 900xxx": "+447700900123",
    "France, 06 39 98 xx xx": "+33639980123",
}
for where, text in reserved.items():
    number = phonenumbers.parse(text)
    possible = phonenumbers.is_possible_number(number)
    print(f"{where}: possible {possible}, valid {phonenumbers.is_valid_number(number)}")
PY

cat > seen.txt <<'TXT'
United States, 555-01xx: possible True, valid True
Australia, 0491 570 xxx: possible True, valid True
United Kingdom, 07700 900xxx: possible True, valid False
France, 06 39 98 xx xx: possible True, valid False
TXT
venv/bin/python shown.py | tee now.txt
diff seen.txt now.txt
