"""A 500 of an app in process names the exception that the app, or its framework, has logged."""

import re

from ..forked_pytest import run_pytest
from ..inner import module_text

APPS = module_text("logging_apps")


def test_a_500_names_the_exception_and_the_line_that_the_app_logged(pytester):
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(test_it=APPS)
    result = run_pytest(pytester.path, "-p", "no:cacheprovider", "--show-capture=no")

    line = 1 + APPS[: APPS.index("raise Lookup")].count("\n")
    said = r"500 \(the app logged LookupError: no such message at test_it\.py:(\d+)\)"
    looked = re.findall(
        rf"^  #4 \(attempt\) sent m1 -> .*: {said}", result.stdout.str(), re.MULTILINE
    )
    assert [str(line)] * 8 == looked
