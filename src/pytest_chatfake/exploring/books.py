"""The fake's books: the messages that an app has sent, and the calls that sent them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from ..base.arguments import cited
from ..base.views import counted
from ..domain.ids import ids_of
from ..domain.messages import MessageState
from ..domain.money import total
from ..fake.details import key_of, name_of, post_of, takes_key
from ..fake.inside import Inside
from ..fake.snapshots import COLLECTIONS, DICT
from ..http_api.account_api import ApiRequest
from ..report.entries import is_repeated
from ..webhooks.attempts import Attempt
from .baseline import Content
from .deviations import Call
from .printed_test import NoTestError
from .world_observer import observer_of


class Books(NamedTuple):
    """What a fake knows of an app's sends.

    Attributes:
        inside: The fake.
        messages: The messages that didn't fail, in order.
        calls: The calls of the API, with the attempt during which each was made; None: it was made
            outside attempts, as by ``connect()`` or a thread of the app.
        content: What each message says, including those that failed.
        names: Returns a text with names for ids.
    """

    inside: Inside
    messages: Sequence[MessageState]
    calls: Mapping[ApiRequest, Attempt | None]
    content: Mapping[MessageState, Content]
    names: Callable[[str], str]

    @classmethod
    def of(cls, inside: Inside) -> Books:
        """Read a fake's books."""
        messages = [message for message in inside.account.messages if message.state != "failed"]
        callers = observer_of(inside).callers
        calls = {call: callers.get(call) for call in inside.calls}
        return cls(inside, messages, calls, *_named_contents(inside))

    @property
    def sent(self) -> Counter[Content]:
        """How often each content was sent."""
        return Counter(map(self.content.__getitem__, self.messages))

    @property
    def cost(self) -> Decimal:
        """The total price of the messages."""
        return total(message.total_price for message in self.messages)

    @property
    def posts(self) -> list[ApiRequest]:
        """The calls that may have an effect."""
        return [call for call in self.calls if call.method not in {"GET", "HEAD"}]

    @property
    def _sends(self) -> Iterator[ApiRequest]:
        return filter(None, map(self.inside.send_call_of, self.messages))

    @property
    def can_deduplicate(self) -> bool:
        """Whether the service takes idempotency keys, or lets an app look something up."""
        return self.inside.routes.has_queries or all(map(takes_key, self._sends))

    @property
    def send_calls(self) -> list[Call]:
        """The paths and methods of the calls that sent messages."""
        found = (Call.of(call.path, call.method) for call in self._sends)
        return list(dict.fromkeys(filter(None, found)))

    @property
    def is_sent_by_app(self) -> bool:
        """Whether the app itself sent one of the messages."""
        return any(self._sends)

    def repeats(self, written: Counter[Content]) -> Iterator[str]:
        """Name the messages that were sent more often than as written, and why they could be."""
        seen: dict[Content, list[MessageState]] = {}
        for message, content in self._as_written(written).items():
            same = seen.setdefault(content, [])
            same.append(message)
            if len(same) <= written[content]:
                continue
            name = self._name(message)
            if not written[content]:
                yield f"{name} has another content than as written: {_shown(content)}"
            else:
                yield f"{name} repeats {self._name(same[-2])}: {self._why(same[-2], message)}"

    def missing(self, written: Counter[Content]) -> Iterator[str]:
        """Name the messages that were not sent."""
        for content, times in self._lacking(written).items():
            often = f" {times} times" * (times > 1)
            failed = [
                f"{self._name(message)} failed with {message.failure.code}"
                for message in self.inside.account.messages
                if self.content[message] == content and message.failure is not None
            ]
            why = f" ({failed[-1]})" if failed else ""
            yield f"the message {_shown(content)} was never sent{often}{why}"

    def without_later(self, before: Books, written: Counter[Content]) -> Books:
        """Leave out what was sent since earlier books, unless it was missing there.

        A test that moves its clock to await a message may cause others, such as a reminder.
        """
        missing, contents = before._lacking(written), self._as_written(written)
        kept = [m for m in self.messages if m in before.content or contents[m] in missing]
        return self._replace(messages=kept)

    def _lacking(self, written: Counter[Content]) -> Counter[Content]:
        return written - Counter(self._as_written(written).values())

    def _as_written(self, written: Counter[Content]) -> dict[MessageState, Content]:
        # A message stands for one as written that is missing, with the same recipient and type: an
        # app may send random codes.
        contents = {message: self.content[message] for message in self.messages}
        missing = [*(written - self.sent).elements()]
        for message, content in contents.items():
            like = next((other for other in missing if other[:2] == content[:2]), None)
            if content not in written and like is not None:
                contents[message] = like
                missing.remove(like)
        return contents

    def shared_key(self) -> str:
        """Say that two calls which no fault concerned had the same key; empty if none had."""
        for call, attempt in self.calls.items():
            if is_repeated(call) and attempt is not None:
                what = f"{call.method} {call.path}"
                return (
                    f"{name_of(attempt.event)} made two {what} calls with the same "
                    f"idempotency key, so the second one sent nothing: give each message its own"
                )
        return ""

    def _name(self, message: MessageState) -> str:
        return self.inside.story.labels.message(message)

    def _why(self, first: MessageState, second: MessageState) -> str:
        why = "same to and body"
        calls = [self.inside.send_call_of(message) for message in (first, second)]
        one, two = calls
        if one is None or two is None:
            return why
        keys = [key_of(one), key_of(two)]
        if not any(keys):
            why += ", no idempotency key"
        elif not all(keys):
            why += ", one of them without an idempotency key"
        elif keys[0] != keys[1]:
            why += ", the idempotency keys differ"
        else:
            why += ", and the send call takes no idempotency key (idempotency_header=)"
        attempt = self.calls.get(two)
        is_alone = attempt is not None and not post_of(attempt).batch
        if attempt is not None and is_alone and attempt is self.calls.get(one):
            posts = [call for call in self.posts if self.calls[call] is attempt]
            name = name_of(attempt.event)
            why += f"; one {name} made {counted(len(posts), 'POST')}"
        return why


def messages_as_code(messages: Mapping[Content, int]) -> list[str]:
    """Return lines of a test that compare what was sent with messages."""
    if any(content.quotes_ids for content in messages):
        raise NoTestError("the messages contain ids, which differ in each run")
    contents = sorted((content.to, content.text) for content in Counter(messages).elements())
    return [
        "sent = [each for each in chat_fake.messages if each.status != 'failed']",
        f"assert sorted((each.to, each.body) for each in sent) == {contents!r}",
    ]


def _shown(content: Content) -> str:
    return f"{cited(content.text)} to {content.to}"


def with_names(value: Any, name_of: Callable[[str], str]) -> Any:
    """Return a snapshot with ids replaced, wherever a key or a value is one."""
    if isinstance(value, str):
        return name_of(value)
    if isinstance(value, DICT):
        return {with_names(key, name_of): with_names(each, name_of) for key, each in value.items()}
    if type(value) in COLLECTIONS:
        return type(value)(with_names(each, name_of) for each in value)
    return value


def _named_contents(inside: Inside) -> tuple[dict[MessageState, Content], Callable[[str], str]]:
    # A message's id gets a name which depends on its content alone: if messages are sent in another
    # order, their ids change places, and no app is to blame for that.
    contents = dict[MessageState, Content]()
    names = dict[str, str]()
    prefixes = (template.partition("%")[0] for template in ids_of(inside.settings.seed, ""))
    # An app may cut an id off; the first eight digits already differ in each run.
    starts = "|".join(re.escape(prefix[: prefix.find("_") + 9]) for prefix in prefixes)
    is_id = re.compile(f"(?:{starts})[0-9a-fA-F]*")

    def name_ids(text: str) -> str:
        return is_id.sub(lambda found: names.get(found[0], "<id>"), text)

    for message in inside.account.messages:  # each can only quote earlier ones
        said = message.body or message.content or ""
        text = name_ids(said)
        contents[message] = Content(message.recipient, message.type, text, text != said)
        # The platform's id has a prefix, which is the same in each run.
        for id_ in is_id.findall(f"{message.id} {message.chat_message_id}"):
            names[id_] = f"<id of {_shown(contents[message])}>"
    return contents, name_ids
