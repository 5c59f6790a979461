#!/usr/bin/env python3
"""says.py TEXT PROGRAM [ARGUMENT ..]: runs the program and shows what it prints. Succeeds if it exits with 0 and the
regular expression TEXT matches its stdout. (A test property of CTest's would forget the exit code.)"""

import re
import subprocess
import sys

text, command = sys.argv[1], sys.argv[2:]
done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
print(done.stdout, end="")
if done.returncode != 0:
    sys.exit(f"{command[0]}: exit code {done.returncode}")
if not re.search(text, done.stdout):
    sys.exit(f"{command[0]}: does not say {text!r}")
