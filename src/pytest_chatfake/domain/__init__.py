"""The rules of the service: statuses, conversations, money, time limits.

This package only uses the standard library and ``base``. It reads no clock, does no I/O, starts no
thread and uses no JSON: :meth:`.Account.decide` takes a verb and the moment, and returns facts.
"""
