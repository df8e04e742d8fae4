"""A state machine of Hypothesis: any verb, in any order, and what must be true after each."""

from __future__ import annotations

import inspect
import sys
from typing import Any, ClassVar, Final

from ..base.arguments import check_str
from ..engine.process_time import Journey
from ..fake.config import ChatFakeConfig, given_or_default
from ..fake.fake import ChatFake
from ..report import watching
from .kit import st, stateful
from .playing import START, Stage, Step, hidden_fake
from .strategies import deviations, lengths, messages, recipients
from .world import is_failure, refuse_failed

_SOME = st.integers(0, 9)
_HURRY = st.booleans()
_MEANWHILE = st.one_of(
    st.tuples(st.just("wait"), lengths()),
    st.tuples(st.just("describe"), recipients()),
    st.tuples(st.just("reject"), messages()),
)


_SYNC_ONLY: Final = (
    "ChatFakeMachine is for sync mode, because Hypothesis calls its rules as plain functions"
)


#: Where Hypothesis keeps what its decorators were put on.
_MARKS: Final = (
    "hypothesis_stateful_rule",
    "hypothesis_stateful_initialize_rule",
    "hypothesis_stateful_invariant",
)


def _is_async(chat_fake: ChatFake | None) -> bool:
    return chat_fake is not None and chat_fake._engine.mode == "async"


def _has_messages(machine: ChatFakeMachine) -> bool:
    return bool(machine._stage.open)


class ChatFakeMachine(stateful.RuleBasedStateMachine):
    """Does with a fake whatever can be done, in any order, as long as your invariants hold.

    Subclass it: make your app in :meth:`connect`, and write what must be true with Hypothesis's
    ``@invariant()``. ``TestBooks = Books.TestCase`` is the test. What fails is shrunk, and comes
    with a test to paste.

    Time begins at a fixed moment, and moves as the machine says. Invariants are checked after each
    verb; where attempts may be held back by a deviation, only after a ``settle()``.

    It is for sync mode only, because Hypothesis calls rules and invariants as plain functions. An
    ASGI app is connected as any other app: it runs on the fake's own loop.

    Args:
        chat_fake: The fake; None: one of its own. A pasted test gives one.

    Attributes:
        config: The configuration of its own fakes; None: the defaults. With ``strict=True`` an
            attempt that failed, and that no deviation let fail, fails the run.
        chat_fake: The fake.

    Raises:
        NotImplementedError: :meth:`connect` is not written.
        TypeError: ``config`` is no configuration, or something is written for async mode: the
            fake, ``config``, :meth:`connect`, a rule or an invariant.
        ClockError: freezegun is active.
    """

    config: ClassVar[ChatFakeConfig | None] = None

    def __init__(self, chat_fake: ChatFake | None = None) -> None:
        super().__init__()
        if given_or_default(self.config).mode == "async" or _is_async(chat_fake):
            raise TypeError(f"{_SYNC_ONLY}: give it a fake and a configuration in sync mode")
        self._refuse_coroutines()
        self._journey = Journey()
        self._is_settled = True
        self._is_own = chat_fake is None
        if chat_fake is None:
            self._journey.begin_on_top(START)
            try:
                chat_fake = hidden_fake(self.config)
            except BaseException:
                self._journey.end()
                raise
        self.chat_fake = chat_fake
        self._stage = Stage(chat_fake)
        try:
            self.connect(chat_fake)
        except BaseException:
            self._end()
            raise

    def _refuse_coroutines(self) -> None:
        """Refuse methods that nobody would await."""
        for name in dir(type(self)):
            member = getattr(type(self), name, None)
            called = [getattr(getattr(member, mark, None), "function", None) for mark in _MARKS]
            if any(map(inspect.iscoroutinefunction, called if name != "connect" else [member])):
                raise TypeError(
                    f"{_SYNC_ONLY}, and {type(self).__name__}.{name}() is `async def`: write `def`"
                )

    def connect(self, chat_fake: ChatFake) -> None:
        """Make your app, and connect it; write this method.

        Args:
            chat_fake: The fake.
        """
        raise NotImplementedError(
            f"{type(self).__name__} needs a method connect(self, chat_fake), which makes your app "
            f"and connects it, as in chat_fake.webhooks.connect(wsgi=app, path='/hooks/chat')"
        )

    def note(self, line: str) -> None:
        """Add a line to the test that is printed, for a rule of your own.

        Args:
            line: What the rule has done, as Python; ``machine`` is the machine.

        Raises:
            TypeError: It is no text.
            ValueError: It is empty.
        """
        self._stage.note(check_str(line, "the line"))

    # What may happen

    @stateful.rule(message=messages(), hurry=_HURRY)
    def send(self, message: dict[str, Any], hurry: bool) -> None:
        """Send a message."""
        self._stage.send(message)
        self._come_to_rest(hurry)

    @stateful.precondition(_has_messages)
    @stateful.rule(which=_SOME, devices=st.integers(1, 3), hurry=_HURRY)
    def deliver(self, which: int, devices: int, hurry: bool) -> None:
        """Deliver a message."""
        self._stage.deliver(which, devices)
        self._come_to_rest(hurry)

    @stateful.precondition(_has_messages)
    @stateful.rule(which=_SOME, hurry=_HURRY)
    def read(self, which: int, hurry: bool) -> None:
        """Let a message be read."""
        self._stage.read(which)
        self._come_to_rest(hurry)

    @stateful.precondition(_has_messages)
    @stateful.rule(which=_SOME, hurry=_HURRY)
    def fail(self, which: int, hurry: bool) -> None:
        """Let a message fail."""
        self._stage.fail(which)
        self._come_to_rest(hurry)

    # One rule, for each rule comes as often as each other, and these are rarer in life.
    @stateful.rule(act=_MEANWHILE)
    def meanwhile(self, act: tuple[str, Any]) -> None:
        """Let time pass, a person change, or a message be rejected."""
        verb, argument = act
        getattr(self._stage, verb)(argument)
        self._come_to_rest(hurry=False)

    @stateful.rule(deviation=deviations(6))
    def go_wrong(self, deviation: Step) -> None:
        """Let something go wrong with an attempt to come."""
        self._stage.do(deviation)

    def _come_to_rest(self, hurry: bool) -> None:
        """Settle where attempts may be held back, unless the next verb comes before that."""
        waits = self._stage.holds_back
        self._is_settled = not (waits and hurry)
        if waits and not hurry:
            self._stage.settle()

    # What Hypothesis calls

    def check_invariants(self, *args: Any, **kwargs: Any) -> None:
        """Check the invariants, where nothing is held back."""
        if self._is_settled:
            super().check_invariants(*args, **kwargs)

    def teardown(self) -> None:
        """End the fake, and tell of a failure as a test. One of your own calls this one."""
        error = sys.exc_info()[1]
        try:
            if error is None:
                self.chat_fake._engine.raise_errors()
                if self.config is not None and self.config.strict:
                    refuse_failed(self.chat_fake)
            elif is_failure(error):
                error.add_note(self._as_a_test(error))
        finally:
            self._end()

    def _end(self) -> None:
        if self._is_own:
            watching.left(self.chat_fake._story)
            self.chat_fake._shut()
            self._journey.end()

    def _as_a_test(self, error: BaseException) -> str:
        """Write what was done as a test that fails alike."""
        lines = [f"machine = {type(self).__name__}(chat_fake)", *self._stage.lines()]
        if (name := self._broken(error)) is not None:
            lines.append(f"machine.{name}()")
        config = "" if self.config is None else f"# With chat_fake_config: {self.config!r}\n"
        body = "\n".join(f"    {line}" for line in lines)
        head = "def test_what_the_machine_found(chat_fake, chat_clock):"
        return f"As a test:\n\n{config}{head}\n{body}\n"

    def _broken(self, error: BaseException) -> str | None:
        """Return the name of the invariant or rule of the user's that raised an error."""
        trace = error.__traceback__
        while trace is not None:
            code, here = trace.tb_frame.f_code, trace.tb_frame.f_locals.get("self")
            own = here is self and not hasattr(ChatFakeMachine, code.co_name)
            if own and code.co_argcount == 1:
                return code.co_name
            trace = trace.tb_next
        return None
