"""False facts in a block of a test, as the reruns of a suite bring them into a whole test."""

from contextlib import contextmanager
from types import SimpleNamespace

from pytest_chatfake.base.current_test import current, running
from pytest_chatfake.mutants.facts import Mutation


@contextmanager
def mutated(name, plain=None):
    """Falsify what apps receive inside the block, or note what could be false."""
    mutation = Mutation(name, plain)
    hook = SimpleNamespace(
        pytest_chatfake_attempt=lambda attempt: [mutation.falsify(attempt)],
        pytest_chatfake_reply=mutation.misreport,
    )
    with running(SimpleNamespace(obj=current().item.obj, ihook=hook)) as test:
        test.call()
        yield mutation
