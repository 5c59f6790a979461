"""The claims of an answer, and others, decided by zeroloss-check, which the package has beside its extension."""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from exact import exact_mean, pair
from verdict import Verdict

sys.path.append(str(Path(__file__).resolve().parents[1] / "checker"))
from claims import Run
from commands import statements

HOLDS = {"holds": True, "does not hold": False, "not decided": None}


def checker():
    import zeroloss

    return Path(zeroloss.__file__).with_name("zeroloss-check")


def judge(case, answer):
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        answer.save(run)
        told = json.loads((run / "claims.json").read_text()) if (run / "claims.json").is_file() else {}
        claimed = Counter(claim["kind"] for claim in told.get("claims", []))
        claimed["exact network"] = claimed["existence"] + claimed["descent"]
        missing = statements(json.loads((run / "result.json").read_text())) - claimed
        if case.kind == "memorize":
            missing.clear()  # of outputs that rounding may decide there is none
        every = Verdict(f"{case.kind}: claims", "note" in told or not missing, f"said without a claim: {dict(missing)}")
        return [every, *(verdicts_of(run, case.kind) if "claims" in told else [])]


def verdicts_of(run, kind):
    done = subprocess.run([checker(), "--json", run], capture_output=True, text=True)
    if done.returncode not in (0, 1, 4):
        return [Verdict(f"{kind}: claims", False, f"exit status {done.returncode}: {done.stderr}")]
    return [Verdict(f"{kind}: claim of {c['kind']}", HOLDS[c["verdict"]], f"{c['text']}: {c['found']}")
            for c in json.loads(done.stdout)["claims"]]  # fmt: skip


def lambda_min(case, kernel, bound, rows=None):
    """Whether lambda_min of the kernel at the points, or these rows of them, is at least the bound; None: undecided."""
    with tempfile.TemporaryDirectory() as folder:
        run, steps = Run(Path(folder) / "run"), ["normalize"]
        run.array("x", case.X)
        if case.options.get("center"):
            run.array("c", [list(part) for part in zip(*map(pair, exact_mean(case.X)))])
            steps.insert(0, {"subtract": "c"})
        run.points("data", "x", steps, **({} if rows is None else {"rows": run.array("rows", rows, "int64")}))
        run.claim("lambda_min", points="data", kernel=kernel, at_least=float(bound)).write()
        (verdict,) = verdicts_of(Path(run.folder), case.kind)
        return verdict.holds
