"""What the tests of the package share: the command and fresh interpreters as processes of the same environment."""

import json
import os
import subprocess
import sys

import pytest

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that wait do not slow other tests down

import zeroloss


def environment(*, sweep=False):
    """What the command restarts itself with, so that bits can be compared: BLAS kernels, and threads of a sweep."""
    kernel = zeroloss.blas_info().better_kernel
    wanted = {"OPENBLAS_CORETYPE": kernel} if kernel else {}
    if sweep:
        wanted["OPENBLAS_NUM_THREADS"] = "1"
    return {**wanted, **os.environ}


@pytest.fixture
def command(tmp_path):
    """command("certify", "digits", ..) -> what --json prints."""

    def run(*arguments, check=True):
        line = [sys.executable, "-m", "zeroloss", *map(str, arguments), "--json"]
        done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, timeout=300)
        if check:
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)
        return done

    return run


@pytest.fixture
def fresh(tmp_path):
    """fresh("expression") -> its value in a new interpreter, with the environment of the command."""

    def run(expression):
        code = f"import json, zeroloss\nprint(json.dumps({expression}))"
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment(sweep="zeroloss.sweep(" in expression),
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
