"""The locale of the host that asks: for some cases the German one, where 0.5 is 0,5."""

import atexit
import contextlib
import functools
import locale
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "locale"))
from in_locale import NAME, make


@functools.cache
def prepare():
    """Makes the locale, where this can be done; forked processes have it, too."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if make(NAME, folder):
        os.environ["LOCPATH"] = str(folder)
    else:
        print(f"no locale {NAME}: all cases are asked in the usual one")


@contextlib.contextmanager
def taken(german):
    """The German locale, if it is wanted and there."""
    before = locale.setlocale(locale.LC_ALL)
    with contextlib.suppress(locale.Error):
        if german:
            locale.setlocale(locale.LC_ALL, NAME)
    try:
        yield
    finally:
        locale.setlocale(locale.LC_ALL, before)
