"""What is kept."""

from __future__ import annotations

from django.db import models


class Message(models.Model):
    """A message of ours, as far as the webhooks have told."""

    id = models.CharField(primary_key=True, max_length=100)
    status = models.CharField(max_length=20)
    price = models.DecimalField(max_digits=20, decimal_places=6)
    currency = models.CharField(max_length=3)
    problem = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"{self.id}: {self.status}"


class Alert(models.Model):
    """The money ran low, or there is enough again."""

    kind = models.CharField(max_length=20, choices=[("low", "low"), ("recovered", "recovered")])
    available = models.DecimalField(max_digits=20, decimal_places=6)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.kind} at {self.available}"
