import os


def pytest_configure() -> None:
    # pytest does not shorten its summary lines where these are set, and inner runs are compared
    # by what they print: it must be the same at a desk and in CI.
    for name in ("CI", "BUILD_NUMBER"):
        os.environ.pop(name, None)
