"""Shows in the terminal how often the random scripts took each path."""


def pytest_terminal_summary(terminalreporter):
    # Properties travel with the reports, so this works under xdist as well.
    for report in terminalreporter.stats.get("passed", []):
        paths = dict(getattr(report, "user_properties", ())).get("chatfake paths")
        if paths is not None:
            terminalreporter.section(report.head_line or report.nodeid)
            for what, count in sorted(paths.items()):
                terminalreporter.write_line(f"{count:7}  {what}")
