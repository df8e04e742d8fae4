"""The rules of the service: statuses, conversations, money, time limits.

This package only uses the standard library. It reads no clock, does no I/O, starts no thread and
uses no JSON: each verb of :class:`~.account.Account` takes ``now`` and returns facts.
"""
