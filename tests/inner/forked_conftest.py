import json
import os
import warnings

import pytest
from _pytest.runner import runtestprotocol


def pytest_configure(config):
    config.addinivalue_line("markers", "forked: run it in a forked child")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    if item.get_closest_marker("forked") is None:
        return None
    hook, (reading, writing) = item.ihook, os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        data = [
            hook.pytest_report_to_serializable(config=item.config, report=report)
            for report in reports
        ]
        with open(writing, "w") as file:
            json.dump(data, file, default=str)
        os._exit(0)
    os.close(writing)
    with open(reading) as file:
        for data in json.load(file):
            report = hook.pytest_report_from_serializable(config=item.config, data=data)
            hook.pytest_runtest_logreport(report=report)
    os.waitpid(child, 0)
    return True
