"""The HTTP API without a socket: the key check, the order of responses, errors (§4.1, §5, §7).

One :class:`Service` responds for all open fakes, and tells them apart by their keys. Many threads
call it; it reads a fake's state under that fake's lock.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary, WeakValueDictionary

from werkzeug import Request, Response

from ..base.forks import new_lock
from ..base.redaction import tail
from ..transport.server.listener import ByHandler, Listener
from ..transport.server.replies import Reply, error_reply, status_line
from .account_api import COMPLETE, AccountApi, ApiRequest
from .key_header import hint_about

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

    from werkzeug.datastructures import Headers

    from ..transport.server.authority import Authority

#: Marks the environment of a request that arrived without a socket.
_IN_PROCESS: Final = "pytest_chatfake.in_process"

INVALID_KEY = error_reply(401, "UNAUTHORIZED", "INVALID_API_KEY")


class Service:
    """All open fakes, behind one listener.

    Attributes:
        host: The address on which the listener will listen, once it starts.
    """

    def __init__(self) -> None:
        self._lock = new_lock()
        # Weak, so that a fake that was never closed goes with the last reference to it.
        self._accounts: WeakValueDictionary[str, AccountApi] = WeakValueDictionary()
        self._users = 0
        self.host: str = "127.0.0.1"
        self._listener: Listener | None = None
        self._authority: Authority | None = None
        # In a forked child: where its parent serves the accounts that both have.
        self._urls_of_parent: WeakKeyDictionary[AccountApi, str] = WeakKeyDictionary()

    # Accounts

    def open(self, account: AccountApi) -> None:
        """Serve an account; raise a ValueError if another one has its key."""
        with self._lock:
            if account._key in self._accounts:
                raise ValueError(
                    f"api_key: another running fake has the key {tail(account._key)}. Give each "
                    f"its own, or omit api_key."
                )
            self._accounts[account._key] = account

    def knows(self, key: str) -> bool:
        return key in self._accounts

    def close(self, account: AccountApi) -> None:
        """Stop serving an account; the last one stops the listener."""
        with self._lock:
            if self._accounts.get(account._key) is account:
                del self._accounts[account._key]
        self._stop_if_unused()

    def rekey(self, account: AccountApi, key: str) -> None:
        with self._lock:
            del self._accounts[account._key]
            account._set_key(key)
            self._accounts[key] = account

    # The listener

    @property
    def listener(self) -> Listener:
        """Our server on pytest-httpserver, which may not be running."""
        with self._lock:
            if self._listener is None:
                self._listener = Listener(self, self.host)
                if self._authority is not None:
                    self._listener.context = self._authority.context
            return self._listener

    @property
    def authority(self) -> Authority:
        """The certificate authority of the process; from now on, clients may speak TLS."""
        with self._lock:
            if self._authority is None:
                from ..transport.server.authority import Authority  # noqa: PLC0415 - few tests need it

                self._authority = Authority(self.host)
                if self._listener is not None:
                    self._listener.context = self._authority.context
            return self._authority

    @property
    def url(self) -> str:
        """The listener's base URL on this machine; reading it starts the listener."""
        listener = self.listener
        with self._lock:
            if not listener.is_running():
                listener.start()
        return _address(listener)

    def url_of(self, account: AccountApi) -> str:
        """The base URL at which an account is served: in a forked child, its parent's too."""
        return self._urls_of_parent.get(account) or self.url

    def secured(self, url: str) -> str:
        """Return a base URL for clients that speak TLS, which the listener does from now on."""
        _ = self.authority
        return url.replace("http:", "https:", 1)

    def take_over(self) -> None:
        """In a forked child, serve its copies of the parent's accounts from now on."""
        self._urls_of_parent.clear()

    def leave_to_parent(self) -> None:
        """In a forked child, leave the listener to the parent; a new one starts on demand."""
        listener = self._listener
        if listener is not None and listener.server is not None:
            for account in self._accounts.values():
                self._urls_of_parent.setdefault(account, _address(listener))
            listener.leave_to_parent()

    def hold(self) -> None:
        """Keep the listener running until :meth:`release`, even if no account is open."""
        with self._lock:
            self._users += 1

    def release(self) -> None:
        with self._lock:
            self._users -= 1
        self._stop_if_unused()

    def _stop_if_unused(self) -> None:
        with self._lock:
            if self._users or self._accounts:
                return
            listener, self._listener = self._listener, None
        if listener is not None and listener.is_running():
            listener.stop()

    def check(self) -> None:
        """Raise the errors of pytest-httpserver's handlers."""
        if self._listener is not None:
            self._listener.check()

    def clear(self) -> None:
        """Forget pytest-httpserver's handlers and their errors."""
        if self._listener is not None:
            self._listener.clear()

    # Responses

    def respond(self, request: Request, by_handler: ByHandler) -> Response | Reply:
        """Respond to any request: without an account's key, by a handler or with a 401.

        A handler of pytest-httpserver may check the key itself.
        """
        headers, account = request.headers, self._account_of(request.headers)
        key = "" if account is None else account._tail
        in_process = _IN_PROCESS in request.environ
        asked = ApiRequest(
            request.method, _path(request), key, account is not None, in_process=in_process
        )
        if account is not None:
            return account._respond(asked, request, by_handler)
        request.environ[COMPLETE] = partial(self._record, asked, headers)
        response = None if asked._is_balance else by_handler(request)
        return self._refusal() if response is None else response

    def _account_of(self, headers: Headers) -> AccountApi | None:
        for account in self._open_accounts():
            if account._key_header.key_in(headers) == account._key:
                return account
        return None

    def _refusal(self) -> Reply:
        # The description's own body (§7.1) and, if keys come in other headers, their names.
        shown = {account._key_header.shown for account in self._open_accounts()}
        if not shown - {"X-API-Key"}:
            return INVALID_KEY
        body = json.loads(INVALID_KEY.body)
        body["error"]["expected"] = f"the key in {' or '.join(sorted(shown))}"
        return INVALID_KEY._replace(body=json.dumps(body).encode())

    def responded(self, request: Request, status: int | None, body: bytes) -> None:
        """Complete the record of a request."""
        if (complete := request.environ.get(COMPLETE)) is not None:
            complete(status, body)

    def _open_accounts(self) -> list[AccountApi]:
        accounts = [reference() for reference in self._accounts.valuerefs()]  # a copy
        return [account for account in accounts if account is not None]

    def _record(
        self, asked: ApiRequest, headers: Headers, status: int | None, body: bytes = b""
    ) -> None:
        # A key of no account may have been meant for any account.
        for account in self._open_accounts():
            header = account._key_header
            key, hint = tail(header.key_in(headers)), hint_about(headers, account._key)
            account._record(
                replace(
                    asked, status=status, body=body, key=key, _key_header=header.shown, _hint=hint
                )
            )

    def wsgi_app(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ[_IN_PROCESS] = True
        request = Request(environ)
        request.get_data()  # cached, so that matchers, handlers and the log all see it
        self._account_of(request.headers)  # raises an error of `api_key_header=` in the client
        reply = self.listener.respond(request)
        if reply.disconnect:
            raise ConnectionResetError("a fault closed the connection without a response")
        headers, body = reply.content(environ["REQUEST_METHOD"])
        start_response(status_line(reply.status), headers)
        return [body]


def _address(listener: Listener) -> str:
    host = listener.host if listener.host != "0.0.0.0" else "127.0.0.1"  # noqa: S104
    return f"http://{host}:{listener.port}"


def _path(request: Request) -> str:
    # `request.path` would merge several slashes at the beginning.
    path: str = request.environ["PATH_INFO"]
    return path.encode("latin-1").decode("utf-8", "replace") or "/"
