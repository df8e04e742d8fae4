"""A small shop that is told what its messages cost, with one mistake at a time."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from flask import Flask, redirect, request

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue


class Shop:
    """What the shop remembers; ``mistake`` says what its programmer got wrong."""

    def __init__(self, mistake: str) -> None:
        self.spent = Decimal(0)
        self.statuses: dict[str, str] = {}
        self.seen: set[str] = set()
        self._mistake = mistake
        self.app = Flask("shop")
        self.app.post("/hooks/chat")(self.receive)

    def receive(self) -> ResponseReturnValue:
        """Take an event."""
        if self._mistake == "a 302 response" and "session" not in request.cookies:
            return redirect("/login")
        if self._mistake != "no signature check" and request.headers.get("X-Signature") == "forged":
            return "", 401
        event = request.get_json()
        if event["id"] in self.seen and self._mistake != "a double charge":
            return "", 204
        self.seen.add(event["id"])
        try:
            self.take(event["chatMessage"])
        except KeyError:
            if self._mistake != "a swallowed exception":
                raise
        return "", 204

    def take(self, message: dict[str, Any]) -> None:
        """Remember a status, and what it cost."""
        if self._mistake in {"an exception in the handler", "a swallowed exception"}:
            message["campaign"]
        known, status = self.statuses.get(message["id"]), message["status"]
        if known == "read" and self._mistake != "a status that goes back":
            return
        self.statuses[message["id"]] = status
        price = Decimal(str(message["totalPrice"]))
        is_read_at_once = status == "read" and known != "delivered"
        is_too_early = status == "sent" and self._mistake == "a wrong amount"
        if status == "delivered" or is_read_at_once or is_too_early:
            self.spent += price
