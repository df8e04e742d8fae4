"""Makes attempts that have begun: writes, signs and posts their requests."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ..base.arguments import unexpected
from ..base.current_test import current
from ..base.redaction import redacted_place
from ..transport.client.django_bridge import connections_kept, is_asgi_handler, run_bridged
from ..transport.client.loops import gather
from ..transport.client.portal import Portal
from ..transport.client.responses import Response
from .attempts import Attempt, Post
from .attending import Attendant
from .core import Core
from .decisions import Changed
from .endpoints import Signer
from .logged_errors import ErrorLog
from .signing import flaw_of, sign


class Poster:
    """Makes attempts, and notes how each one ended at the app.

    Several attempts are made concurrently. ASGI apps and async functions run as tasks on one loop;
    URLs and WSGI apps are called in threads, which tasks wait for.

    Args:
        core: Knows which code is part of an attempt.
        portal: Runs the tasks if the caller is plain code.

    Attributes:
        log: Notes what apps log.
    """

    def __init__(self, core: Core[Any], portal: Portal) -> None:
        self._scopes = core.scopes
        self._portal = portal
        self.log: ErrorLog = ErrorLog(core)

    def post(self, posts: Sequence[Post], *, plain: bool) -> Coroutine[Any, Any, None]:
        """Make the attempts that faults have not ended already.

        The coroutine raises nothing: what targets raise is the posts' result, and what was raised
        around them is in ``ended``.

        Args:
            posts: One post, or several that can overlap.
            plain: Whether the caller is plain code, which can't await.
        """
        if len(posts) == 1:
            return self._make(posts[0], plain=plain)
        return self._make_together(posts, plain=plain)

    async def _make_together(self, posts: Sequence[Post], *, plain: bool) -> None:
        tasks = [partial(self._make_as_task, post) for post in posts]
        try:
            for post in posts:
                post.target = post.target.clone()
            if not plain:
                await gather(tasks)
            elif any(is_asgi_handler(post.target._app) for post in posts):
                with connections_kept():
                    run_bridged(gather, tasks)
            else:
                self._portal.run(gather(tasks))
        except BaseException as error:
            for post in posts:
                post.ended = post.ended or error
        finally:
            for post in posts:
                with suppress(RuntimeError):  # a call that doesn't return can't be ended
                    post.target.close()

    async def _make_as_task(self, post: Post) -> None:
        await self._make(post, plain=False)
        if type(post.result).__name__ == "Cancelled":
            raise post.result  # type: ignore[misc] # trio counts its own cancellations

    async def _make(self, post: Post, *, plain: bool) -> None:
        if post.result is not None:  # a fault has ended it
            return
        try:
            with current().around(post.attempt):
                try:
                    self._begin(post)
                    if post.result is None:  # another plugin may have ended it
                        if plain:
                            post.result = post.target.attempt(post.request)
                        else:
                            post.result = await post.target.attempt_async(post.request)
                except BaseException as error:
                    post.result = error
                finally:
                    self._end(post)
        except BaseException as error:
            post.ended = error

    def _begin(self, post: Post) -> None:
        self._scopes.begin(post.attempt)
        _write(post)
        if post.attendant is not None:
            post.attendant.begin(post.target)
        post.is_posted = True

    def _end(self, post: Post) -> None:
        try:
            if post.attendant is not None:
                _end_attendant(post, post.attendant)
            result = post.result
            status = result.status if isinstance(result, Response) else None
            logged = self.log.take(post.attempt, status or 0, post.target.printed)
            if status is not None and logged is not None:
                post.attempt._logged = logged
        finally:
            self._scopes.end(post.attempt)


def _end_attendant(post: Post, attendant: Attendant) -> None:
    try:
        if post.result is not None:
            post.result = attendant.result_of(post.result)
    finally:
        attendant.end()  # last, when nothing holds the app's frames any more


def _write(post: Post) -> None:
    # The order matters, because tamper() changes the signed body.
    attempt, request, changes = post.attempt, post.request, post.attempt._changes
    event, endpoint = attempt.event, attempt.endpoint
    signer = endpoint.signer
    if callable(endpoint._path):
        path = request.path  # asked once, because it may be another one each time
        attempt._place = f" {redacted_place(path)}"
        post.target.go_to(path)
    for change in changes:
        if change.content is not None:
            request.body = event._seen(change.content(request.body), request.body)
        signer = change.signer or signer  # the last one signs
    request.body = event._posted(request.body)
    for change in changes:
        if change.evolved is not None:
            request.body = change.evolved(request.body)
    if signer is not None:
        _sign(post, signer, changes)
    for change in changes:
        if change.tampered is not None:
            request.body = _tampered(change.tampered, request.body)


def _sign(post: Post, signer: Signer, changes: Iterable[Changed]) -> None:
    request, attempt = post.request, post.attempt
    signature = sign(post.signer or signer, request)
    if signature.body != request.body:
        request._unsigned, request.body = request.body, signature.body
    request.headers = {**attempt.endpoint.headers, **signature.headers}
    for change in changes:
        if change.signer is signer and change.meaning.wrong:
            _say_flaw(attempt, change.mark.kind, signer, signature)


def _say_flaw(attempt: Attempt, kind: str, signer: Signer, headers: Mapping[str, str]) -> None:
    # Let the marks of faults that sign say what is wrong.
    flaw = flaw_of(signer, attempt.endpoint.signer, headers)
    marks = attempt._marks
    attempt._marks = tuple(
        mark._replace(text=flaw) if mark.kind == kind else mark for mark in marks
    )


def _tampered(change: Callable[[bytes], bytes], body: bytes) -> bytes:
    result: object = change(body)
    if not isinstance(result, bytes):
        raise TypeError(
            unexpected("what the tamper() function returned", "bytes such as body[:-1]", result)
        )
    return result
