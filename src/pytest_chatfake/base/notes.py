"""The codes of the journal: one small integer for each record.

The logs of events, attempts and requests call the journal with one of these for each record that
they add. So the journal keeps the order, and the n-th note of a kind is the n-th record of that
kind.
"""

from __future__ import annotations

from typing import Final

#: The test, or code that it runs, changed something.
VERB: Final = 1
#: The ledger took an entry that belongs to no fact: it is about no message.
POSTING: Final = 2
#: An event was emitted that rests on no rule of the service: the test made it.
EVENT: Final = 3
#: An attempt began, or was lost on the way because a fault said so; its record follows at its end.
ATTEMPT: Final = 4
#: The API was asked for something.
REQUEST: Final = 6
#: Time was moved.
CLOCK: Final = 7
#: A fault of webhooks was set up.
WEBHOOK_FAULT: Final = 8
#: A fault of the API was set up.
API_FAULT: Final = 9
#: The API has responded to a request that did something.
RESPONSE: Final = 10
#: From here on: a fact, by the code of the rule that it rests on, and :data:`ENTRY` for each entry
#: that the ledger took. These and its event, if it has one, are its records.
FACT: Final = 32
ENTRY: Final = 64
