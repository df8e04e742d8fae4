"""The address that the messaging service posts to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from . import events

if TYPE_CHECKING:
    from django.http import HttpRequest


@csrf_exempt  # the service has no cookie of ours
@require_POST
def receive(request: HttpRequest) -> HttpResponse:
    """Keep one event. Whatever is answered but 2xx may make the service send it again."""
    try:
        told = events.parse(request.body)
    except events.EventError as error:
        return HttpResponse(f"not an event: {error}", status=400, content_type="text/plain")
    if told is not None:
        events.record(told)
    return HttpResponse(status=204)
