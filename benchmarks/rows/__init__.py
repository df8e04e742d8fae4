"""All rows, in the order of the table. What a row needs is imported when it runs."""

from __future__ import annotations

from . import balance, bulk, costs, exploring, fastapi, fixtures, suite, webhooks

ROWS = {
    row.name: row
    for module in (balance, webhooks, fastapi, bulk, fixtures, suite, exploring, costs)
    for row in module.ROWS
}
