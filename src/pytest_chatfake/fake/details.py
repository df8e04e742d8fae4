"""Details of single records that extras need and tests don't; see also :class:`.Inside`."""

from __future__ import annotations

from ..base.faults import BaseFault
from ..domain.instants import SECOND
from ..domain.messages import MessageState
from ..http_api.account_api import ApiRequest
from ..transport.client.targets import Target
from ..webhooks.attempts import Attempt, Post
from ..webhooks.decisions import Changed, Meaning
from ..webhooks.endpoints import Endpoint, WebhookRequest
from ..webhooks.events import Event
from ..webhooks.faults import Concurrently, Duplicate

# Attempts


def post_of(attempt: Attempt) -> Post:
    """Return what is only known while an attempt is made or, in an observed fake, from then on."""
    assert attempt._post is not None
    return attempt._post


def was_made(attempt: Attempt) -> bool:
    """Return whether an attempt was made: neither lost, nor at a disabled endpoint."""
    return attempt._was_made


def is_first_attempt(attempt: Attempt) -> bool:
    """Return whether an attempt is an event's first one at an endpoint, or its duplicate."""
    return attempt._is_new


def meaning_of(attempt: Attempt) -> Meaning:
    return attempt._meaning


def changes_of(attempt: Attempt) -> list[Changed]:
    """Return the changes that faults have made."""
    return attempt._changes


def kept_back(attempt: Attempt) -> str:
    """Return how a fault kept an attempt from the app, in a word or two; empty if none did."""
    return attempt._decisions[-1].mark.text if attempt._meaning.unseen else ""


def is_changed(attempt: Attempt) -> bool:
    """Return whether the posted event differs from the one that was emitted."""
    return attempt._is_changed


def shows_change(attempt: Attempt) -> bool:
    """Return whether the app can see that the event was changed."""
    event, request = attempt.event, post_of(attempt).request
    is_named = request.id in f"{request.headers} {request.body!r}"
    posted = _unsigned_body(request)
    return posted != event._posted(event.body) or (is_named and request.id != event.id)


def shaped_body(attempt: Attempt) -> bytes | None:
    """Return the body that ``outbound=`` wrote, without a signature; None if it wrote none."""
    is_shaped = attempt.event._outbound is not None
    return _unsigned_body(post_of(attempt).request) if is_shaped else None


def _unsigned_body(request: WebhookRequest) -> bytes:
    return request.body if request._unsigned is None else request._unsigned


def call_before(attempt: Attempt) -> ApiRequest | None:
    """Return the API call before whose response ``during_call()`` made an attempt."""
    return attempt._call if isinstance(attempt._call, ApiRequest) else None


def chosen_path(attempt: Attempt) -> str:
    """Return the path that a function chose for an attempt; empty if none did."""
    return attempt._place.strip()


def note_error(attempt: Attempt, error: BaseException) -> None:
    """Let an attempt say what the app raised, although it counts as accepted."""
    attempt._response = attempt._response._replace(error=error)


# Events


def name_of(event: Event) -> str:
    """Return the name of an event, even if other events have the same."""
    return event._name


def number_of(event: Event) -> int:
    """Return the number of an event's message; negative for a recorded message, 0 for none."""
    return event._number


def message_of(event: Event) -> MessageState | None:
    return event._message


def is_posted(event: Event) -> bool:
    """Return whether an event has a body to post: ``outbound=`` may return None."""
    return event._is_posted


def seen_by_app(event: Event, changed: bytes, body: bytes) -> bytes:
    """Return a changed body or, if ``outbound=`` leaves out the change, the original."""
    return event._seen(changed, body)


# Endpoints


def target_of(endpoint: Endpoint) -> Target:
    return endpoint._target


def recreates_app(endpoint: Endpoint) -> bool:
    """Return whether an endpoint recreates its app after a crash."""
    return endpoint._restart is not None


def never_disable(endpoint: Endpoint) -> None:
    endpoint._disable_after = None


def let_retry(endpoint: Endpoint) -> None:
    """Let the service retry failed attempts after a minute, if it would not."""
    endpoint._retries = endpoint._retries or (60 * SECOND,)


# Faults


def outlast_barriers(fault: BaseFault) -> None:
    """Let a duplicate wait for other attempts past barriers, until the end of the body."""
    if isinstance(fault, Duplicate):
        fault._outlasts_barriers = True


def was_cut_short(fault: BaseFault) -> bool:
    """Return whether a barrier cut short a fault's waiting for other attempts."""
    return fault._was_cut_short


def meeting_place(fault: BaseFault) -> object:
    """Return what makes the attendants of a fault's attempts at the same time, if anything."""
    return fault._meet if isinstance(fault, Concurrently) else None


# Calls of the API


def key_of(call: ApiRequest) -> str:
    """Return the idempotency key that a call had; empty if it had none."""
    return call._key_sent


def takes_key(call: ApiRequest) -> bool:
    """Return whether a call's route takes idempotency keys."""
    return call._takes_key


def is_given_up(call: ApiRequest) -> bool:
    """Return whether a call's response still waits for its webhooks, or its client gave up."""
    return call._awaits_webhooks or call._is_given_up


def has_webhooks_first(call: ApiRequest) -> bool:
    """Return whether a call's webhooks are posted before its response, as its route says."""
    return call._has_webhooks_first
