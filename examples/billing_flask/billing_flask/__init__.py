"""A team's campaign billing: what was sent, what arrived, what it cost."""

from .app import create_app

__all__ = ["create_app"]
