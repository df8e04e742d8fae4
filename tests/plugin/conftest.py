"""Runs inside a test take modules that they import with them, so whatever is imported late is here.

Otherwise a class that the package keeps from one run would meet another run's modules.
"""
