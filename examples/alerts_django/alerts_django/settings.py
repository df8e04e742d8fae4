"""The settings; what differs from place to place comes from the environment."""

import os
from decimal import Decimal
from pathlib import Path

SECRET_KEY = os.environ.get("ALERTS_SECRET_KEY", "for development only")
DEBUG = False
ALLOWED_HOSTS = os.environ.get("ALERTS_HOSTS", "localhost").split(",")

ROOT_URLCONF = "alerts_django.urls"
INSTALLED_APPS = ["alerts_django"]
MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("ALERTS_DATABASE", Path(__file__).parent.parent / "db.sqlite3"),
        # What is read in a transaction decides what it writes, so nobody may write in between.
        "OPTIONS": {"transaction_mode": "IMMEDIATE"},
        # A file, too: of a database in memory, threads see each other's tables locked.
        "TEST": {"NAME": Path(__file__).parent.parent / "test.sqlite3"},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
# Django 6.1 asks for it; before, it is a name like any other.
MAILERS = {"default": {"BACKEND": "django.core.mail.backends.smtp.EmailBackend"}}
STATIC_URL = "static/"

MESSAGING_URL = os.environ.get("ALERTS_MESSAGING_URL", "")
MESSAGING_KEY = os.environ.get("ALERTS_MESSAGING_KEY", "")
LOW_BALANCE = Decimal(os.environ.get("ALERTS_LOW_BALANCE", "10"))
TEAM = ["team@example.com"]
