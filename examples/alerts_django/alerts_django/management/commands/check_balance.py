"""``manage.py check_balance``, for cron: no webhook tells of a top-up or a dropped message."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.mail import send_mail
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from alerts_django.models import Alert
from alerts_django.service import ServiceError, balance


class Command(BaseCommand):
    """Read the balance, and tell the team once when it has become low, once when it is back."""

    help = "Read the balance, and tell the team when it runs low."

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command."""
        try:
            available, currency = balance()
        except ServiceError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{available} {currency}")
        with transaction.atomic():
            last = Alert.objects.order_by("-id").first()
            kind = "low" if available < settings.LOW_BALANCE else "recovered"
            if kind == (last.kind if last else "recovered"):
                return
            Alert.objects.create(kind=kind, available=available)
            transaction.on_commit(
                lambda: send_mail(
                    f"The balance: {kind}", f"{available} {currency}", None, settings.TEAM
                )
            )
