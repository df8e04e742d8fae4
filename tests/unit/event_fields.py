"""Every kind of event, and which fields it has (§2.2-2.5, §6), by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_chatfake import PlatformError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_chatfake import ChatFake


class Kind(NamedTuple):
    """How an event comes about, its status, and whether the platform was tried."""

    make: Callable[[ChatFake], object]
    status: str
    platform: bool = False


def into_an_open_conversation(fake):
    fake.send_text("First").deliver()
    return fake.send_text("Second")


def without_receipts(fake):
    private = fake.recipient("+4915100003", read_receipts=False)
    return fake.send_text(to=private).read()


OWN_ERROR = PlatformError("No such user", "OAuthException", "131030", "AbC", "Not on the list")
KINDS = {
    "sent": Kind(lambda fake: fake.send_text(), "sent"),
    "sent, accepted apart": Kind(lambda fake: fake.submit_text().accept(), "sent"),
    "sent into an open conversation": Kind(into_an_open_conversation, "sent"),
    "delivered": Kind(lambda fake: fake.send_text().deliver(), "delivered"),
    "delivered, for nothing": Kind(
        lambda fake: into_an_open_conversation(fake).deliver(), "delivered"
    ),
    "delivered on a second device": Kind(
        lambda fake: fake.send_text().deliver().deliver(), "delivered"
    ),
    "delivered, read in private": Kind(without_receipts, "delivered"),
    "read": Kind(lambda fake: fake.send_text().deliver().read(), "read"),
    "read at once": Kind(lambda fake: fake.send_text().read(), "read"),
    "failed": Kind(lambda fake: fake.send_text().fail(), "failed", platform=True),
    "failed with code 100": Kind(
        lambda fake: fake.send_text().fail("100"), "failed", platform=True
    ),
    "failed with a platform error": Kind(
        lambda fake: fake.send_text().fail(platform_error=OWN_ERROR), "failed", platform=True
    ),
    "failed here": Kind(lambda fake: fake.send_text().fail(platform_error=False), "failed"),
    "rejected": Kind(lambda fake: fake.submit_text().reject(), "failed"),
    "rejected by the platform": Kind(
        lambda fake: fake.submit_text().reject("131026", platform_error=True),
        "failed",
        platform=True,
    ),
    "failed for want of money": Kind(lambda fake: fake.send_text(price="1000"), "failed"),
}

# §2.3: field -> the statuses in which it is present.
EVERY = {"sent", "delivered", "read", "failed"}
MESSAGE_FIELDS = {
    "id": EVERY,
    "chatMessageId": EVERY,
    "status": EVERY,
    "conversation": {"sent", "delivered", "read"},
    "totalPrice": EVERY,
    "currency": EVERY,
    "createTime": {"sent", "delivered", "read"},
    "sendTime": {"sent", "delivered", "read"},
    "deliverTime": {"delivered", "read"},
    "readTime": {"read"},
    "errorCode": {"failed"},
    "errorMessage": {"failed"},
    "bizType": EVERY,
    "type": EVERY,
    "text": EVERY,
}
# §2.4
CONVERSATION_FIELDS = {
    "id": {"sent", "delivered", "read"},
    "type": {"delivered", "read"},
    "originType": {"sent", "delivered", "read"},
    "expireTime": {"sent", "delivered", "read"},
}
# §2.2, §2.5
ENVELOPE = {"id", "type", "apiVersion", "createTime", "chatMessage"}
PLATFORM_ERROR = {"message", "type", "code", "trace_id", "error_data"}
ERROR_DATA = {"messaging_product", "details"}
