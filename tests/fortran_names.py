#!/usr/bin/env python3
"""fortran_names.py ARCHIVE LIST: every function of BLAS and LAPACK that the library calls is in LIST.

That is cmake/scipy_symbols.txt, without which a wheel, whose OpenBLAS has other names for them, could not be loaded."""

import re
import subprocess
import sys
from pathlib import Path

archive, names = sys.argv[1:]
symbols = subprocess.run(["nm", "--undefined-only", archive], check=True, stdout=subprocess.PIPE, text=True).stdout
called = {line.split()[-1] for line in symbols.splitlines() if re.search(r" U [a-z][a-z0-9]*_$", line)}
listed = {line.split()[0] for line in Path(names).read_text().splitlines()}
if not called:
    sys.exit(f"fortran_names: {archive} calls none: this test looks at the wrong file")
if called - listed:
    sys.exit(f"fortran_names: called, but not in {names}: {sorted(called - listed)}")
