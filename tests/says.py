#!/usr/bin/env python3
"""says.py TEXT PROGRAM [ARGUMENT ..]: runs the program in an empty folder and shows what it prints. Succeeds if it ends
with 0 and the regular expression TEXT matches its stdout. (A test property of CTest's would forget the exit code.)"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

text, command = sys.argv[1], [str(Path(sys.argv[2]).resolve()), *sys.argv[3:]]
with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=folder)
print(done.stdout, end="")
if done.returncode != 0:
    sys.exit(f"{command[0]}: exit code {done.returncode}")
if not re.search(text, done.stdout):
    sys.exit(f"{command[0]}: does not say {text!r}")
