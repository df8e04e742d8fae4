"""The rules of the service: statuses, conversations, money, time limits.

Everything in this package is standard library only. It reads no clock, does no I/O, starts no
thread and knows no JSON: each verb of :class:`~.account.Account` takes ``now`` and returns facts.
"""
