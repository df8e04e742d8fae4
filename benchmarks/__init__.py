"""How fast the fake is, beside its neighbours and beside bare loops: ``python -m benchmarks``."""
