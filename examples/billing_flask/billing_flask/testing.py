"""For tests: the app as its users see it, through the HTTP API and the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flask import Flask

    from pytest_chatfake import ChatFake, Message


class Billing:
    """Drives an app in process, and insists that it answers well."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self._http = app.test_client()
        self._commands = app.test_cli_runner()

    def new_campaign(self, name: str) -> int:
        """Make a campaign and return its id."""
        campaign_id: int = self._post("/campaigns", {"name": name}, expected=201)["id"]
        return campaign_id

    def send(self, campaign_id: int, body: str, *, to: str) -> str:
        """Send a message and return the messaging service's id of it."""
        path = f"/campaigns/{campaign_id}/messages"
        message_id: str = self._post(path, {"to": to, "body": body}, expected=202)["id"]
        return message_id

    def spend(self, campaign_id: int) -> dict[str, Any]:
        """Return a campaign's figures."""
        return self._get(f"/campaigns/{campaign_id}/spend")

    def message(self, message_id: str) -> dict[str, Any]:
        """Return what the app knows about a message."""
        return self._get(f"/messages/{message_id}")

    def alerts(self) -> list[str]:
        """Return the kinds of the alerts so far, oldest first."""
        return [alert["kind"] for alert in self._get("/alerts")["alerts"]]

    def skipped_checks(self) -> list[str]:
        """Return why balance checks were skipped, oldest first."""
        return [check["reason"] for check in self._get("/alerts")["skipped"]]

    def check_balance(self) -> tuple[int, str]:
        """Run ``flask check-balance``; return its exit code and what it printed."""
        result = self._commands.invoke(args=["check-balance"])
        return result.exit_code, result.output

    def remind(self) -> int:
        """Run ``flask remind``; return how many were reminded."""
        result = self._commands.invoke(args=["remind"])
        assert result.exit_code == 0, result.output
        return int(result.output.removeprefix("reminded: "))

    def _get(self, path: str) -> dict[str, Any]:
        response = self._http.get(path)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.get_json()
        return answer

    def _post(self, path: str, payload: object, *, expected: int) -> dict[str, Any]:
        response = self._http.post(path, json=payload)
        assert response.status_code == expected, response.text
        answer: dict[str, Any] = response.get_json()
        return answer


class Campaign:
    """One campaign of the app, and the recipients' side of what it sends."""

    def __init__(self, billing: Billing, chat_fake: ChatFake, name: str) -> None:
        self.id = billing.new_campaign(name)
        self._billing = billing
        self._chat_fake = chat_fake

    def send(self, body: str = "Sale ends today", *, to: str = "+4915550001") -> Message:
        """Have the app send a message; return the fake's handle, to say what becomes of it."""
        message_id = self._billing.send(self.id, body, to=to)
        self._chat_fake.settle()  # the webhook of a message sent in a route waits for the test
        return self._chat_fake.message(message_id)

    def spend(self) -> dict[str, Any]:
        """Return the campaign's figures."""
        return self._billing.spend(self.id)

    @property
    def charged(self) -> str:
        """What the campaign has cost."""
        amount: str = self.spend()["charged"]
        return amount

    @property
    def reserved(self) -> str:
        """What it may still cost."""
        amount: str = self.spend()["reserved"]
        return amount
