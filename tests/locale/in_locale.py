#!/usr/bin/env python3
"""Runs a program under the German locale, where 0.5 is 0,5 and 1000 is 1.000, and its children too.

    in_locale.py LIBRARY FOLDER PROGRAM [ARGUMENT ..]

LIBRARY is that of take_locale.cpp, FOLDER where locales are made unless they are there. The exit status is the
program's; 77 where the locale cannot be made (Debian's package locales is not installed)."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NAME = "de_DE.UTF-8"
OTHERS = ["ps_AF.UTF-8"]  # whose decimal point has two bytes: some tests take it by themselves


def make(name, folder):
    """The locale, in a folder for LOCPATH; false if it cannot be made. Of several at once the first stays."""
    if (folder / name).is_dir():
        return True
    if shutil.which("localedef") is None:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as mine:
        language, _, letters = name.partition(".")
        command = ["localedef", "-i", language, "-f", letters, f"{mine}/{name}"]
        try:
            if subprocess.run(command, capture_output=True).returncode == 0:
                os.rename(f"{mine}/{name}", folder / name)
        except OSError:  # another was first
            pass
    return (folder / name).is_dir()


def environment(library, folder):
    """What a program needs to begin in the locale; nothing if there is none."""
    folder = Path(folder).resolve()
    made = [make(name, folder) for name in [NAME, *OTHERS]]
    if not made[0]:
        return None
    # glibc leaves the pieces of LOCPATH behind; the same tests in the plain locale look for leaks.
    order = filter(None, [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0", "detect_leaks=0"])
    # LD_PRELOAD is divided at blanks, which a path may have; LD_LIBRARY_PATH is not.
    library = Path(library).resolve()
    paths = filter(None, [str(library.parent), os.environ.get("LD_LIBRARY_PATH")])
    added = {"LOCPATH": str(folder), "LC_ALL": NAME, "ZEROLOSS_TEST_LOCALE": NAME, "LD_PRELOAD": library.name,
             "LD_LIBRARY_PATH": ":".join(paths), "ASAN_OPTIONS": ":".join(order)}  # fmt: skip
    said = subprocess.run(["true"], env={**os.environ, **added}, capture_output=True, text=True).stderr
    if said:
        sys.exit(f"{library} is not loaded, so nothing takes the locale: {said}")
    return added


def refuse():
    print(f"no locale {NAME}: install Debian's package locales, or run scripts/setup.sh full")
    sys.exit(77)


def main():
    library, folder, *command = sys.argv[1:]
    added = environment(library, folder) or refuse()
    os.execvpe(command[0], command, {**os.environ, **added})


if __name__ == "__main__":
    main()
