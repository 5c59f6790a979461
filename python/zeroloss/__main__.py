"""The command: `zeroloss ..` and `python -m zeroloss ..`."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

from . import _core
from .api.data import default_cache


def _restart_with_better_blas(arguments: list[str]) -> None:
    """OpenBLAS chooses its kernels while it is loaded, from a table of processors, and starts its threads then too,
    which a sweep has no use for. So the program starts again with the kernels that its vector instructions allow."""
    wanted = {"OPENBLAS_CORETYPE": _core.blas_info().better_kernel}
    if arguments[:1] == ["sweep"]:
        wanted["OPENBLAS_NUM_THREADS"] = "1"
    missing = {name: value for name, value in wanted.items() if value and name not in os.environ}
    if missing and sys.executable:
        os.environ.update(missing)
        with suppress(OSError):  # slower, but right
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def main() -> int:
    """Runs the command of sys.argv; returns its exit code."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["report"]:
        from . import report

        return report.main(arguments[1:])
    _restart_with_better_blas(arguments)
    # Python's own handler would wait until the library is done; what goes on for long has one itself.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    name = "zeroloss" if os.path.basename(sys.argv[0]) == "__main__.py" else sys.argv[0]
    return _core.run([name, *arguments], default_cache())


if __name__ == "__main__":
    sys.exit(main())
