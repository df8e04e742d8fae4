"""A support team's inbox: what became of its replies, and what is left to send with."""

from .app import create_app
from .settings import Settings

__all__ = ["Settings", "create_app"]
