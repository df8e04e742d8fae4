"""Makes attempts that have begun: writes, signs and posts their requests."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from ..base.arguments import unexpected
from ..base.current_test import current
from ..base.scopes import Scopes
from ..transport.client.django_bridge import connections_kept, is_asgi_handler, run_bridged
from ..transport.client.loops import gather
from ..transport.client.portal import Portal
from ..transport.client.responses import Response
from .attempts import Post
from .decisions import Changed
from .logged_errors import ErrorLog
from .signing import flaw_of, sign
from .synthetic import evolved


class Poster:
    """Makes attempts, and notes how each one ended at the app.

    Several attempts are made concurrently. ASGI apps and async functions run as tasks on one loop;
    URLs and WSGI apps are called in threads, which tasks wait for.

    Args:
        scopes: Knows which code is part of an attempt.
        portal: Runs the tasks if the caller is plain code.

    Attributes:
        log: Notes what apps log.
    """

    def __init__(self, scopes: Scopes, portal: Portal) -> None:
        self._scopes = scopes
        self._portal = portal
        self.log: ErrorLog = ErrorLog(scopes)

    async def post(self, posts: Sequence[Post], *, plain: bool) -> BaseException | None:
        """Make the attempts that faults have not ended already.

        Args:
            posts: One post, or several that can overlap.
            plain: Whether the caller is plain code, which can't await.

        Returns:
            What ended them early, if anything did.
        """
        to_make = [post for post in posts if post.outcome is None]
        try:
            if len(to_make) == 1:
                await self._make(to_make[0], plain=plain)
            elif to_make:
                await self._make_together(to_make, plain=plain)
        except BaseException as error:
            return error
        return None

    async def _make_together(self, posts: Sequence[Post], *, plain: bool) -> None:
        with self._tasks(posts) as tasks:
            if not plain:
                await gather(tasks)
            elif any(is_asgi_handler(post.target._app) for post in posts):
                with connections_kept():
                    run_bridged(gather, tasks)
            else:
                self._portal.run(gather(tasks))

    @contextmanager
    def _tasks(self, posts: Sequence[Post]) -> Generator[list[Callable[[], Any]]]:
        for post in posts:
            post.target = post.target.clone()
        try:
            yield [partial(self._make_as_task, post) for post in posts]
        finally:
            for post in posts:
                with suppress(RuntimeError):  # a call that doesn't return can't be ended
                    post.target.close()

    async def _make_as_task(self, post: Post) -> None:
        await self._make(post, plain=False)
        if type(post.outcome).__name__ == "Cancelled":
            raise post.outcome  # type: ignore[misc] # trio counts its own cancellations

    async def _make(self, post: Post, *, plain: bool) -> None:
        with current().around(post.attempt):
            try:
                self._begin(post)
                if post.outcome is not None:  # another plugin's, for example
                    return
                if plain:
                    post.outcome = post.target.attempt(post.request)
                else:
                    post.outcome = await post.target.attempt_async(post.request)
            except BaseException as error:
                post.outcome = error
            finally:
                self._end(post)

    def _begin(self, post: Post) -> None:
        self._scopes.begin(post.attempt)
        _write(post)
        if post.attendant is not None:
            post.attendant.begin(post.target)
        post.is_posted = True

    def _end(self, post: Post) -> None:
        if post.attendant is not None:
            try:
                if post.outcome is not None:
                    post.outcome = post.attendant.outcome_of(post.outcome)
            finally:
                post.attendant.end()  # last, when nothing holds the app's frames any more
        logged, outcome = self.log.take(post.attempt), post.outcome
        if isinstance(outcome, Response) and (outcome.status or 0) >= 500:
            post.attempt._logged = logged
        self._scopes.open.discard(post.attempt)


def _write(post: Post) -> None:
    # The order matters, because tamper() changes the signed body.
    event, request, changes = post.attempt.event, post.request, post.attempt._changes
    for change in changes:
        if change.content is not None:
            request.body = event._seen(change.content(request.body), request.body)
    request.body = event._posted(request.body)
    if any(change.is_evolved for change in changes):
        request.body = evolved(request.body, everywhere=event._outbound is not None)
    _sign(post, [change for change in changes if change.signer is not None])
    for change in changes:
        if change.tampered is not None:
            request.body = _tampered(change.tampered, request.body)


def _sign(post: Post, changes: Sequence[Changed]) -> None:
    # Of several faults that sign, the last one does.
    attempt, request, own = post.attempt, post.request, post.attempt.endpoint.signer
    signer = post.signer or (changes[-1].signer if changes else own)
    if signer is None:
        return
    headers = sign(signer, request)
    request.headers = {**request.endpoint.headers, **headers}
    if changes and changes[-1].meaning.wrong:
        # The marks say what is wrong.
        kind, flaw = changes[-1].mark.kind, flaw_of(signer, own, headers)
        attempt._marks = tuple(
            mark._replace(text=flaw) if mark.kind == kind else mark for mark in attempt._marks
        )


def _tampered(change: Callable[[bytes], bytes], body: bytes) -> bytes:
    result: object = change(body)
    if not isinstance(result, bytes):
        raise TypeError(
            unexpected("what the tamper() function returned", "bytes such as body[:-1]", result)
        )
    return result
