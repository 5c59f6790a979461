"""Pickles of estimators."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from .. import _core
from .._core import DataError

#: Of what estimators learn, by name. Pickles without a number are of versions that had none.
FORMAT = 1


class Pickled(BaseEstimator):
    """Its state has a format's number and the version that wrote it; one that does not fit is an error."""

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_zeroloss": {"format": FORMAT, "version": _core.version}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        written = state.pop("_zeroloss", {"format": FORMAT, "version": "an earlier version"})
        absent = [name for name in self._get_param_names() if name not in state]
        if written["format"] != FORMAT or absent:
            what = f"has no {absent[0]}" if absent else f"has format {written['format']}; {FORMAT} is known"
            raise DataError(
                f"a pickle of {type(self).__name__} by zeroloss {written['version']} {what}: fit it again with this "
                f"version, {_core.version}"
            )
        super().__setstate__(state)
