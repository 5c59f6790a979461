"""The claims of an answer, decided by zeroloss-check, which the package has beside its extension."""

import json
import subprocess
import tempfile
from pathlib import Path

from verdict import Verdict

HOLDS = {"holds": True, "does not hold": False, "not decided": None}


def checker():
    import zeroloss

    return Path(zeroloss.__file__).with_name("zeroloss-check")


def judge(case, answer):
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        answer.save(run)
        return verdicts_of(run, case.kind) if (run / "claims.json").is_file() else []


def verdicts_of(run, kind):
    if "claims" not in json.loads((run / "claims.json").read_text()):  # what is too large to be copied is said there
        return []
    done = subprocess.run([checker(), "--json", run], capture_output=True, text=True)
    if done.returncode not in (0, 1, 4):
        return [Verdict(f"{kind}: claims", False, f"exit status {done.returncode}: {done.stderr}")]
    return [Verdict(f"{kind}: claim of {c['kind']}", HOLDS[c["verdict"]], f"{c['text']}: {c['found']}")
            for c in json.loads(done.stdout)["claims"]]  # fmt: skip
