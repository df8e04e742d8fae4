"""Three mistakes that such apps were seen to make; the tests find each of them."""

from __future__ import annotations

from typing import Any

from .app import Assistant
from .store import Answer


class RemembersTooLate(Assistant):
    """Stores an answer when the send call has returned; its first webhook finds nothing."""

    async def answer(self, customer: str, body: str) -> None:
        external_id = f"answer-{len(self.store.answers) + 1}"
        resource = await self._service.send(customer, body, external_id)
        self.store.answers[external_id] = Answer(external_id, customer, "queued", resource["id"])


class AnswersTwice(Assistant):
    """Does not remember which incoming messages it has answered."""

    async def on_incoming(self, message: dict[str, Any]) -> None:
        if message["from"] not in self.store.taken_over:
            await self.answer(message["from"], "Thank you for writing")


class TakesEchoesForCustomers(Assistant):
    """Treats every event with a text as something that a customer wrote."""

    async def handle(self, event: dict[str, Any]) -> None:
        if event["type"] == "chat.echo.received":
            await self.on_incoming(event["chatEcho"] | {"from": event["chatEcho"]["to"]})
        else:
            await super().handle(event)
