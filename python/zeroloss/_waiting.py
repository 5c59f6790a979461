"""Loads the extension so that its threads sleep while they wait.

OpenMP and OpenBLAS read that from the environment while they are loaded. Threads that spin hold the processor that
another program, or the thread they wait for, could use.
"""

import os

_SETTINGS = {"OMP_WAIT_POLICY": "passive", "OPENBLAS_THREAD_TIMEOUT": "4"}
_ours = [name for name in _SETTINGS if name not in os.environ]
os.environ.update({name: _SETTINGS[name] for name in _ours})
try:
    from . import _core  # noqa: F401
finally:
    for _name in _ours:
        del os.environ[_name]
