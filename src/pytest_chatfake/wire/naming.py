"""The names that stand for the channel's brand, and checks that keys don't clash."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Final

from ..base.arguments import check_choice, check_list, check_str, cited


@dataclass(frozen=True, slots=True)
class Naming:
    """The names that differ from channel to channel (§1: the description replaces the brand).

    Set your channel's own names here: every event is written and read with them.

    Example::

        ChatFakeConfig(naming=Naming(message_key="whatsappMessage", to_key="to"))

    Attributes:
        event_type: The event's ``type`` (§2.2).
        message_key: The envelope's field that holds the message resource (§2.2).
        original_id_key: The field of the platform's message id (§2.3).
        error_key: The field of the platform's error (§2.3).
        trace_key: The field of the platform error's trace id (§2.5).
        biz_type: The value of ``bizType`` (§2.3).
        messaging_product: The value of ``error_data.messaging_product`` (§2.5).
        id_prefix: The prefix of the platform's message ids (§2.3).
        to_key: The field of the message resource with the recipient's address; if None, there is no
            field for it (assumed).
        from_key: The field of the message resource with the sender's address; if None, there is no
            field for it (assumed).

    Raises:
        TypeError: A name is not a string.
        ValueError: A name is empty or not printable ASCII, or two fields have the same key.
    """

    event_type: str = "chat.message.updated"
    message_key: str = "chatMessage"
    original_id_key: str = "chatMessageId"
    error_key: str = "chatApiError"
    trace_key: str = "trace_id"
    biz_type: str = "chat"
    messaging_product: str = "chat"
    id_prefix: str = "wamid."
    to_key: str | None = None
    from_key: str | None = None

    def __post_init__(self) -> None:
        for name in (item.name for item in fields(self)):
            value = getattr(self, name)
            if value is None and name in {"to_key", "from_key"}:
                continue
            _check_plain(value, f"Naming.{name}")
        _refuse_taken("message_key", self.message_key, ENVELOPE_KEYS)
        _refuse_taken("trace_key", self.trace_key, ERROR_KEYS)
        taken = set(MESSAGE_KEYS)
        for name in ("original_id_key", "error_key", "to_key", "from_key"):
            if (value := getattr(self, name)) is not None:
                _refuse_taken(name, value, taken)
                taken.add(value)

    @property
    def _message_keys(self) -> Mapping[str, str]:
        # All keys that the message resource can have (§2.3), each with the setting behind it.
        keys = {
            **MESSAGE_KEYS,
            self.original_id_key: "Naming.original_id_key renames it",
            self.error_key: "fail(platform_error=) sets it",
        }
        if self.to_key is not None:
            keys[self.to_key] = "to= sets it"
        if self.from_key is not None:
            keys[self.from_key] = "ChatFakeConfig(sender=) sets it"
        return keys


def check_fields(names: Iterable[str], keys: Mapping[str, str], what: str) -> None:
    """Raise a ValueError for a field that the message resource already has."""
    for name in names:
        if name in keys:
            raise ValueError(
                f"{what} can't replace {cited(name)}, a field of the description: {keys[name]}. "
                f"To send an event with it changed, see fake.webhooks.emit()."
            )


def check_omit(names: Iterable[str], keys: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of fields to omit; refuse fields that the message resource always needs."""
    known = sorted(keys.keys() - {"id", "status"})
    listed = check_list(names, "omit", "fields such as ['conversation', 'bizType']")
    given = [check_str(name, "a field in omit") for name in listed]
    return tuple(check_choice(name, "field to omit", known) for name in given)


def check_type(value: object, keys: Collection[str]) -> str:
    """Return a message's type; refuse one that can't also be the key of the content."""
    name = _check_plain(value, "type")
    if name != "text" and name in keys:
        raise ValueError(
            f"{cited(name)} can't be a message's type: the message has a field of that name"
        )
    return name


ENVELOPE_KEYS: Final = frozenset({"id", "type", "apiVersion", "createTime"})
MESSAGE_KEYS: Final[Mapping[str, str]] = {
    "id": "the service gives it",
    "status": "a verb sets it",
    "conversation": "conversation= and origin_type= set it",
    "totalPrice": "price= sets it",
    "currency": "ChatFakeConfig(currency=) sets it",
    "createTime": "the clock sets it",
    "sendTime": "the clock sets it",
    "deliverTime": "the clock sets it",
    "readTime": "the clock sets it",
    "errorCode": "fail(code=) sets it",
    "errorMessage": "fail(message=) sets it",
    "bizType": "Naming.biz_type sets it",
    "type": "send(type, content) sets it",
    "text": "send_text() sets it",
}
ERROR_KEYS: Final = frozenset({"message", "type", "code", "error_data"})

#: Printable ASCII without spaces and characters that JSON has to escape.
_PLAIN = re.compile(r"[!#-\[\]-~]+")


def _check_plain(value: object, what: str) -> str:
    text = check_str(value, what)
    if not _PLAIN.fullmatch(text):
        raise ValueError(
            f"{what}: expected printable ASCII without spaces, quotes or backslashes, "
            f"got {cited(text)}"
        )
    return text


def _refuse_taken(name: str, value: str, taken: Iterable[str]) -> None:
    if value in taken:
        raise ValueError(f"Naming.{name}: {cited(value)} is the name of another field")
