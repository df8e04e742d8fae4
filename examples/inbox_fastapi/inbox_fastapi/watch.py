"""The background job: how much is left to send with?"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from .service import ServiceError

if TYPE_CHECKING:
    from .service import MessagingService
    from .store import Store


async def look(store: Store, service: MessagingService) -> None:
    """Look at the balance once, and keep what that brought. Never fails for the service's sake."""
    try:
        balance = await service.balance()
    except ServiceError as error:
        await store.note(None, str(error))
    else:
        await store.note(balance)


async def keep_looking(store: Store, service: MessagingService, every: float) -> None:
    """Look at the balance every so many seconds: no webhook tells of a top-up."""
    while True:
        await asyncio.sleep(every)
        await look(store, service)
