"""Small faults, put into one place of the code at a time: which of them does no test see?

    python -m tests.by_hand.mutants                      # these rooms: some hours on two cores
    python -m tests.by_hand.mutants --every 15           # a sample of them
    python -m tests.by_hand.mutants domain.money webhooks --every 5
    python -m tests.by_hand.mutants report --every 16 --offset 8     # to judge by another sample

Three groups of tests run for each, until one fails: those that most likely see it (to collect all
of them takes longer than to find most mutants), the property tests with few examples, and all of
`tests/unit`. Every mutant with which all tests pass is printed. It is killed by a new test, or it
changes nothing that anybody could see; then its name stands in ``equivalent_mutants.txt``, with the
reason in an indented line below, and it is left out. Texts of messages are not changed.

mutmut and cosmic-ray were tried on ``domain.money``. Neither runs groups of tests one after the
other, or keeps reasons for equivalent mutants outside the code. mutmut changes texts of messages,
too, and all that survived were those; cosmic-ray starts a pytest for each mutant.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeAlias

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "pytest_chatfake"
Tests: TypeAlias = tuple[str, ...]
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.txt")
#: A run that takes so many times as long as one without a change hangs, and is seen by that.
HANGS = 10

#: What is changed where nothing is named.
ROOMS = (
    "domain",
    "people",
    "webhooks",
    "engine",
    "wire",
    "fake",
    "exploring",
    "learning",
    "mutants.facts",
    "http_api",
    "transport",
    "transport.client",
    "transport.server",
)

#: The tests that most likely see a change of a module; for others of the room, the room's. A name
#: without a folder is one of `tests/unit`.
LIKELY = {
    "domain": "test_transitions test_money_rules test_conversation_rules test_people",
    "domain.account": "test_transitions test_money_rules test_conversation_rules "
    "test_people test_resets test_presence test_emit test_refusals golden/test_golden",
    "domain.conversations": "test_conversation_rules test_conversation_messages test_edges",
    "domain.failure_codes": "test_presence test_refusals test_transitions",
    "domain.ids": "test_ids test_conversation_messages",
    "domain.instants": "test_clock test_edges test_refusals",
    "domain.ledger": "test_money_rules golden/test_golden",
    "domain.messages": "test_transitions test_refusals test_calls_during_attempts",
    "domain.money": "test_money_rules test_refusals",
    "domain.people": "test_people test_resets test_scripts_in_time",
    "domain.schedule": "test_schedule test_clock test_agenda test_scripts_in_time",
    "engine": "test_clock test_agenda test_wait_until test_threads test_calls_during_attempts "
    "test_overlooked test_other_travellers test_timeline test_transitions test_outbox "
    "test_all_or_nothing test_people test_scripts_in_time test_emit test_api_routes "
    "test_price_functions golden/test_golden integration/test_calling_back",
    "engine.due_runner": "test_clock test_agenda test_wait_until test_people test_scripts_in_time "
    "test_retries test_deviations test_threads",
    "engine.performer": "test_calls_during_attempts integration/test_frameworks_gather",
    "engine.plan": "test_calls_during_attempts integration/test_frameworks_gather",
    "exploring": "exploring/test_exploration exploring/test_explored_features",
    "exploring.crash_watch": "exploring/test_crashes exploring/test_crash_worlds "
    "exploring/test_injected_errors",
    "exploring.crashes": "exploring/test_crashes exploring/test_injected_errors",
    "exploring.injected_errors": "exploring/test_injected_errors",
    "exploring.memories": "exploring/test_memories",
    "exploring.new_apps": "exploring/test_webhook_tests exploring/test_late_threads",
    "exploring.point_watch": "exploring/test_crashes exploring/test_crash_worlds "
    "exploring/test_injected_errors",
    "exploring.printed_test": "exploring/test_exploration exploring/test_printed_values",
    "exploring.ready_made_run": "exploring/test_webhook_tests exploring/test_send_tests",
    "exploring.rejections": "exploring/test_send_tests",
    "exploring.running_code": "exploring/test_crashes",
    "exploring.send_run": "exploring/test_send_tests",
    "exploring.tripwires": "exploring/test_crashes exploring/test_injected_errors",
    "exploring.webhook_run": "exploring/test_webhook_tests",
    "exploring.webhook_tests": "exploring/test_webhook_tests",
    "fake": "test_handles test_people test_resets test_send_endpoint test_emit test_own_fields "
    "test_conversation_rules test_timeline test_refusals",
    "fake.agenda": "test_agenda",
    "fake.clock": "test_clock test_agenda test_edges",
    "fake.edges": "test_edges",
    "fake.event_filters": "test_other_events test_faults test_refusals",
    "fake.forgery_check": "test_forgeries test_forged_schemes test_resets",
    "fake.paused": "test_paused golden/test_golden",
    "fake.receiver": "test_receiver test_refusals",
    "fake.recipients": "test_people",
    "fake.recorded_events": "test_handles test_replay test_emit",
    "fake.send_endpoint": "test_send_endpoint",
    "fake.snapshots": "test_snapshot_differences test_checks_that_cannot_tell",
    "fake.waits": "test_wait_until",
    "fake.webhooks": "test_emit test_replay test_other_events test_paused test_faults "
    "test_refusals",
    "http_api": "test_api test_api_routes test_api_faults test_faults test_send_endpoint",
    "learning": "learning/test_learning",
    "mutants": "mutants/test_reruns",
    "mutants.facts": "mutants/test_facts",
    "pages": "pages/test_page pages/test_merge pages/test_whole_runs mutants/test_reruns",
    "people": "test_scripts_in_time test_autopilot test_people test_all_or_nothing test_agenda",
    "report": "golden/test_golden test_timeline test_overlooked test_active_stories "
    "plugin/test_timeline_reports",
    "transport": "integration/test_connection integration/test_url_responses",
    "transport.client": "integration/test_targets integration/test_url_responses",
    "transport.client.asgi": "test_asgi_requests test_asgi_responses integration/test_targets",
    "transport.client.cancellable": "integration/test_worker_cancellation integration/test_worker "
    "integration/test_frameworks_cancellation",
    "transport.client.django_bridge": "integration/test_django_targets",
    "transport.client.http_client": "integration/test_url_responses "
    "integration/test_kept_connections integration/test_hostile_receivers",
    "transport.client.lifespan": "test_lifespan",
    "transport.client.loops": "integration/test_private_loop integration/test_shared_servers "
    "integration/test_frameworks_gather test_lifespan",
    "transport.client.portal": "integration/test_worker integration/test_worker_cancellation",
    "transport.client.private_loop": "integration/test_private_loop test_lifespan",
    "transport.client.targets": "integration/test_targets integration/test_handler_targets "
    "test_target_arguments",
    "transport.client.receiving": "test_receiving integration/test_url_responses "
    "integration/test_hostile_receivers",
    "transport.client.url": "integration/test_url_responses integration/test_calling_back "
    "test_target_arguments",
    "transport.client.watchdog": "test_watchdog",
    "transport.client.worker": "integration/test_worker integration/test_worker_cancellation",
    "transport.client.wrapped_apps": "exploring/test_crashes test_lifespan",
    "transport.client.wsgi": "test_wsgi_requests test_wsgi_responses integration/test_targets",
    "transport.server": "integration/test_listener integration/test_listener_handlers "
    "integration/test_connection",
    "webhooks": "test_outbox test_faults test_retries test_paused test_overdue test_concurrently "
    "test_deviations test_emit test_replay test_other_events test_receiver "
    "test_handler_responses exploring/test_exploration test_threads",
    "webhooks.attempts": "test_deviations test_faults test_retries test_changed_contents "
    "test_disabled_endpoints test_concurrently test_outbound exploring/test_exploration",
    "webhooks.decisions": "test_deviations test_faults test_retries test_changed_contents "
    "test_disabled_endpoints test_forgeries exploring/test_crashes exploring/test_exploration",
    "webhooks.drain": "test_deviations test_faults test_retries test_paused test_concurrently "
    "test_disabled_endpoints test_outbox test_resets test_receiver_errors test_interrupts "
    "test_calls_during_attempts test_forgeries test_threads test_overdue "
    "exploring/test_crashes exploring/test_exploration",
    "webhooks.events": "test_emit test_replay test_other_events test_outbound test_handles "
    "test_changed_contents",
    "webhooks.faults": "test_deviations test_faults test_refusals test_concurrently test_retries "
    "exploring/test_crashes exploring/test_injected_errors test_changed_contents "
    "test_disabled_endpoints",
    "webhooks.forgeries": "test_forgeries test_forged_schemes",
    "webhooks.frameworks": "test_hints_on_a_500",
    "webhooks.logged_errors": "test_logged_errors",
    "webhooks.outbox": "test_outbox test_emit test_replay test_other_events test_outbound "
    "test_resets test_ticks test_paused test_forgeries",
    "webhooks.overdue": "test_overdue test_watchdog",
    "webhooks.posting": "test_changed_contents test_outbound test_concurrently "
    "test_logged_errors test_forgeries test_deviations exploring/test_crashes",
    "webhooks.queue": "test_deviations test_paused test_retries test_concurrently test_faults "
    "test_disabled_endpoints test_resets test_clock exploring/test_exploration",
    "webhooks.changed_bodies": "test_changed_bodies test_forged_schemes",
    "webhooks.header_parts": "test_header_parts test_forged_schemes test_forgeries",
    "webhooks.probes": "test_forged_schemes test_forgeries",
    "webhooks.schemes": "test_forged_schemes test_forgeries",
    "webhooks.signing": "test_signing test_signed_bodies test_refusals",
    "wire": "test_contract test_presence test_emit test_own_fields test_other_events test_program",
    "wire.exact_json": "test_own_fields test_presence test_refusals",
    "wire.naming": "test_own_fields test_refusals test_other_events",
    "wire.recordings": "test_replay test_program",
}

#: Small enough to be run for each change that the likely ones do not see.
PROPERTY = (
    "tests/property/test_against_model.py",
    "tests/property/test_modes_agree.py",
)
UNIT = ("tests/unit",)

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


class Mutant(NamedTuple):
    """One change of one place.

    Attributes:
        module: Where it is.
        name: Module, function and change; the same wherever the place moves to.
        line: Its line now.
        node: The index of its node among the module's.
        variant: Which of the node's changes.
    """

    module: str
    name: str
    line: int
    node: int
    variant: int

    def source(self) -> str:
        """Return the module with the change."""
        tree = ast.parse(path_of(self.module).read_text("utf-8"))
        _, node = _places(tree)[self.node]
        _changes(node)[self.variant]()
        return ast.unparse(ast.fix_missing_locations(tree))


def mutants(module: str) -> Iterator[Mutant]:
    """Return every change of a module."""
    names: dict[str, int] = {}
    tree = ast.parse(path_of(module).read_text("utf-8"))
    for index, (function, node) in enumerate(_places(tree)):
        for variant in range(len(_changes(node))):
            changed = copy.deepcopy(node)
            _changes(changed)[variant]()
            name = f"{module}.{function}: {_shown(node)} -> {_shown(changed)}"
            names[name] = number = names.get(name, 0) + 1
            again = f" ({number})" if number > 1 else ""
            yield Mutant(module, name + again, getattr(node, "lineno", 0), index, variant)


def path_of(module: str) -> Path:
    """Return the file of a module."""
    return SRC / (module.replace(".", "/") + ".py")


def _places(tree: ast.Module) -> list[tuple[str, ast.AST]]:
    """Return the nodes inside functions, with the name of the function; no annotation or text."""
    found: list[tuple[str, ast.AST]] = []

    def walk(node: ast.AST, function: str) -> None:
        if isinstance(node, (ast.JoinedStr, ast.Raise)):
            return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner = node.name if not function else f"{function}.{node.name}"
            if not isinstance(node, ast.ClassDef):
                found.extend((inner, default) for default in node.args.defaults)
            for child in node.body:
                walk(child, inner)
            return
        if function:
            found.append((function, node))
        for name, value in ast.iter_fields(node):
            if name == "annotation" or isinstance(node, ast.arguments):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    walk(child, function)

    walk(tree, "")
    return found


def _changes(node: ast.AST) -> list:  # type: ignore[type-arg]
    """Return what can be done to a node, as functions that do it."""

    def put(name: str, value: object) -> object:
        return lambda: setattr(node, name, value)

    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
        return [put("ops", [_COMPARED[type(node.ops[0])](), *node.ops[1:]])]
    if isinstance(node, ast.BoolOp):
        return [put("op", ast.Or() if isinstance(node.op, ast.And) else ast.And())]
    if isinstance(node, ast.BinOp) and type(node.op) in _COMPUTED:
        return [put("op", _COMPUTED[type(node.op)]())]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [put("operand", ast.UnaryOp(ast.Not(), node.operand))]
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return [put("value", not node.value)]
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return [put("value", node.value + 1)]
    if isinstance(node, ast.Return) and node.value is not None:
        # Who is given None for False sees no difference; True is tried where the constant stands.
        known = node.value.value if isinstance(node.value, ast.Constant) else ...
        return [] if known is None or known is False else [put("value", ast.Constant(None))]
    if isinstance(node, ast.If):
        return [put("test", ast.Constant(value)) for value in (True, False)]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return [put("value", ast.Constant(None))]
    return []


def _shown(node: ast.AST) -> str:
    """Return a node as one short line."""
    text = ast.unparse(node.test if isinstance(node, ast.If) else node)
    return ("if " if isinstance(node, ast.If) else "") + " ".join(text.split())[:100]


def run_one(mutant: Mutant | None, tests: Tests) -> None:
    """Run tests with a change or none, in this process, and end it: 0 if no test sees it."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    with TemporaryDirectory() as folder:
        package = Path(folder, SRC.name)
        shutil.copytree(SRC, package)  # with the times of the files, so what is compiled stays good
        if mutant is not None:
            file = package.joinpath(*mutant.module.split(".")).with_suffix(".py")
            file.write_text(mutant.source(), "utf-8")
        sys.path.insert(0, folder)
        os.environ["PYTHONPATH"] = folder  # for runs of pytest in processes of their own
        code = _run_tests(tests)
    os._exit(code)


def _run_tests(tests: Tests) -> int:
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:django"]
    try:
        return int(pytest.main([*options, *tests]))
    except BaseException:
        return 3


def run(chosen: list[Mutant], jobs: int, limits: dict[Tests, float]) -> int:
    """Run the tests with each change, show those that no test sees, and return how many.

    Args:
        chosen: The changes.
        jobs: How many at the same time.
        limits: Real seconds after which a run of these tests is killed, and its change counts as
            seen.
    """
    waiting = [(mutant, groups_of(mutant.module)) for mutant in chosen[::-1]]
    running: dict[int, tuple[Mutant, list[Tests], float]] = {}
    survived = 0
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant, groups = waiting.pop()
            child = os.fork()
            if not child:
                run_one(mutant, groups[0])
            limit = limits.get(groups[0], limits[UNIT])
            running[child] = (mutant, groups, time.monotonic() + limit)
        child, status = os.waitpid(-1, os.WNOHANG)
        if child:
            mutant, (_, *groups), _ = running.pop(child)
            if status == 0 and groups:
                waiting.append((mutant, groups))
            elif status == 0:
                survived += 1
                print(f"passed: line {mutant.line}: {mutant.name}", flush=True)
            continue
        for late, (mutant, groups, end) in list(running.items()):
            if time.monotonic() > end:
                print(f"hangs: line {mutant.line}: {mutant.name}", flush=True)
                os.kill(late, signal.SIGKILL)
                running[late] = (mutant, groups, float("inf"))
        time.sleep(0.02)
    return survived


def groups_of(module: str) -> list[Tests]:
    """Return the tests for a module, a group at a time; a file that is gone is left out."""
    name = module
    while name and name not in LIKELY:
        name = name.rpartition(".")[0]
    likely = LIKELY.get(name, "").split()
    files = [f"tests/{file if '/' in file else f'unit/{file}'}.py" for file in likely]
    first = tuple(file for file in files if (ROOT / file).exists())
    return [group for group in (first, PROPERTY, UNIT) if group]


def modules_of(name: str) -> list[str]:
    """Return a module, or those of a room."""
    if path_of(name).exists():
        return [name]
    files = sorted(SRC.joinpath(*name.split(".")).glob("*.py"))
    if not files:
        raise SystemExit(f"no module and no room: {name}")
    return [f"{name}.{file.stem}" for file in files if file.stem != "__init__"]


def explained() -> set[str]:
    """Return the names of the changes that nobody could see."""
    if not EQUIVALENT.exists():
        return set()
    lines = EQUIVALENT.read_text("utf-8").splitlines()
    return {line for line in lines if line.strip() and not line.startswith((" ", "#"))}


def time_of(tests: Tests) -> float:
    """Run tests without any change, and return the real seconds it takes.

    Raises:
        SystemExit: They fail.
    """
    begun = time.monotonic()
    child = os.fork()
    if not child:
        run_one(None, tests)
    if os.waitpid(child, 0)[1]:
        raise SystemExit(f"these fail without any change, repair that first: {' '.join(tests)}")
    return time.monotonic() - begun


def main() -> int:
    """Run, and return 1 if a change survived that is not explained."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "modules", nargs="*", help=f"modules or whole rooms (default: {', '.join(ROOMS)})"
    )
    parser.add_argument("--every", type=int, default=1, help="only every so many")
    parser.add_argument("--offset", type=int, default=0, help="how many are left out before these")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    os.chdir(ROOT)
    os.environ["RANDOM_SCRIPTS"] = "few"
    for name in ("pydantic", "werkzeug.test", "trio"):  # once, and not in each process
        __import__(name)
    limits: dict[Tests, float] = {tests: HANGS * time_of(tests) for tests in (PROPERTY, UNIT)}
    known = explained()
    chosen = [
        mutant
        for name in arguments.modules or ROOMS
        for module in modules_of(name)
        for mutant in list(mutants(module))[arguments.offset :: arguments.every]
        if mutant.name not in known
    ]
    begun = time.monotonic()
    survived = run(chosen, arguments.jobs, limits)
    print(
        f"{len(chosen)} mutants, {survived} survived, {len(known)} explained; "
        f"{time.monotonic() - begun:.0f} s"
    )
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main())
