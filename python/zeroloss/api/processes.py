"""Processes that work together: those of an mpi4py communicator."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from .. import _core

F = TypeVar("F", bound=Callable[..., Any])


class Communicator(Protocol):
    """What of ``mpi4py.MPI.Comm`` is used."""

    rank: int
    size: int

    def bcast(self, obj: object, root: int = 0) -> object: ...


def shared(function: F) -> F:
    """Of a function with a keyword `comm`: called by all processes of that communicator, it runs on process 0, with its
    arguments and the group in place of `comm`. The others do what it asks them for, and get its result, or its
    exception."""

    @functools.wraps(function)
    def on_all(*args: Any, comm: Communicator | None = None, **keywords: Any) -> Any:
        if not isinstance(comm, (type(None), _core.Group)) and not hasattr(comm, "bcast"):
            raise TypeError(f"{function.__name__}: comm must be a communicator of mpi4py; got {comm!r}")
        return _together(comm, lambda group: function(*args, comm=group, **keywords))

    return on_all  # type: ignore[return-value]


def group_of(comm: Communicator | _core.Group | None) -> _core.Group:
    """What `shared` put in place of a communicator."""
    return comm if isinstance(comm, _core.Group) else _core.Group()


def _together(comm: Communicator | None, work: Callable[[_core.Group], Any]) -> Any:
    if comm is None or comm.size == 1:
        return work(_core.Group())
    from mpi4py import MPI

    group = _core.Group.of(MPI._addressof(comm))
    if group.rank != 0:
        group.serve()
        done, value = comm.bcast(None)  # type: ignore[misc]
    else:
        try:
            done, value = True, work(group)
        except Exception as error:
            done, value = False, error
        group.dismiss(0)
        comm.bcast((done, value))
    if not done:
        raise value
    return value
