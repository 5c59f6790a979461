#!/usr/bin/env python3
"""Would the tests notice? Plants the errors of planted.toml in a copy of the sources, one at a time.

    planted.py list                                  the errors, and where they would be planted
    planted.py check                                 exit 1 unless every error has exactly one place in src/
    planted.py compile [NAME ..] --work DIR          exit 1 unless all of them compile
    planted.py run [NAME ..] --work DIR [--jobs N]   exit 1 if one survives its judges

NAME is an error, or a file or folder of src/ (default: all). DIR holds the copy, its build and results.jsonl; a run
that was stopped goes on where it was, and a change of the sources or tests starts a new one. Judges are first asked
about the copy as it is, where all of them must be green. `run --fast` asks the tests that `make test` has, without the
slow ones. `run --package` builds the Python package too, and asks adversary.py about the errors that have survived the
others. `run --judges checker` asks zeroloss-check alone, about what the commands of tests/checker/commands.py state:
what it does not see are statements that stay true. On a busy machine a judge may seem to hang: its line says so."""
import argparse
import filecmp
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_suffix(".toml")
OURS = {str(LIST.relative_to(ROOT)), str(LIST.with_suffix(".py").relative_to(ROOT))}
LEAST_LIMIT = 300  # seconds a judge may take; what takes longer hangs
ADVERSARY_CASES = 300
JUDGES = {  # of a folder's errors: the folder's own tests, then those that build on it
    "base": ["base", "apps"],
    "linalg": ["linalg", "data", "kernel", "proof", "deep", "apps"],
    "storage": ["storage", "apps"],
    "data": ["data", "kernel", "network", "theory", "proof", "train", "apps"],
    "sources": ["sources", "apps"],
    "tables": ["tables", "sources", "apps"],
    "kernel": ["kernel", "theory", "proof", "train", "apps"],
    "network": ["network", "theory", "proof", "train", "apps"],
    "theory": ["theory", "train", "apps"],
    "proof": ["proof", "train", "apps"],
    "deep": ["deep", "apps"],
    "train": ["train", "sweep", "apps"],
    "sweep": ["sweep", "apps"],
    "width": ["width", "apps"],
    "linear": ["linear", "apps"],
    "memorize": ["memorize", "apps"],
}


@dataclass
class Error:
    name: str
    old: str
    new: str
    breaks: str
    file: str  # relative to src/, where `old` is
    judges: list

    def planted_in(self, text):
        return text.replace(self.old, self.new)

    def digest(self):
        return hashlib.sha256(f"{self.old}\0{self.new}\0{self.judges}".encode()).hexdigest()[:16]


def read_errors(root):
    """The errors that have one place in src/, and what is wrong with the others."""
    texts = {str(p.relative_to(root / "src")): p.read_text(encoding="utf-8")
             for p in sorted((root / "src").rglob("*")) if p.is_file()}
    errors, problems = [], []
    for name, entry in tomllib.loads(LIST.read_text(encoding="utf-8")).items():
        judges = entry.pop("judges", None)
        if set(entry) != {"file", "old", "new", "breaks"} or entry["old"] == entry["new"]:
            problems.append(f"{name}: expected file, old, new and breaks, and a difference between old and new")
            continue
        places = [file for file, text in texts.items() for _ in range(text.count(entry["old"]))]
        if len(places) != 1:
            where = f" ({', '.join(sorted(set(places)))})" if places else f", last seen in {entry['file']}"
            problems.append(f"{name}: {len(places)} places in src/{where}: {entry['old']}")
            continue
        file = places[0]
        errors.append(Error(name, entry["old"], entry["new"], entry["breaks"], file,
                            judges or JUDGES[file.split("/")[0]]))
    return errors, problems


def chosen(errors, names):
    def matches(error, name):
        return name in (error.name, error.file) or error.file.startswith(name.rstrip("/") + "/")

    for name in names:
        if not any(matches(error, name) for error in errors):
            sys.exit(f"planted.py: no error has the name, file or folder {name}")
    some = [e for e in errors if not names or any(matches(e, name) for name in names)]
    return sorted(some, key=lambda e: e.file)  # a file is restored and planted anew in one compilation


# ---- the copy ----------------------------------------------------------------------------------------------------


def start(command, seconds=None, **options):
    """Runs a command in a group of its own, and ends all of it when time is up: (exit status or None, output)."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          start_new_session=True, **options) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
            return process.returncode, output
        except BaseException as stop:
            os.killpg(process.pid, signal.SIGTERM)  # ninja's compilers have groups of their own: it ends them
            try:
                output, _ = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
            if isinstance(stop, subprocess.TimeoutExpired):
                return None, output
            raise


class Copy:
    """The tree as git sees it, in work/source, with the build of the release preset inside."""

    def __init__(self, work, jobs):
        self.source = work.resolve() / "source"
        self.build = self.source / "build" / "release"
        self.jobs = str(jobs)
        self.environment = {**os.environ, "CCACHE_BASEDIR": str(self.source), "CCACHE_NOHASHDIR": "1",
                            "OMP_WAIT_POLICY": "passive", "PYTHONPATH": str(self.build / "python"),
                            "ZEROLOSS_COMMAND": str(self.build / "bin" / "zeroloss")}

    def python(self):
        return self.source / "build" / "python" / "bin" / "python"

    def renew(self):
        """Writes only what differs: what is built already stays. Returns a digest of what decides a result."""
        files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                               check=True, capture_output=True, text=True).stdout.split("\0")
        files = {file for file in files if file and (ROOT / file).is_file()}
        digest = hashlib.sha256()
        for file in sorted(files):
            target = self.source / file
            if not (target.is_file() and filecmp.cmp(ROOT / file, target, shallow=False)):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / file, target)  # with the time of now
            if re.match(r"(src|include|apps|python|tests|cmake|data)/|CMake", file) and file not in OURS:
                digest.update(file.encode() + b"\0" + target.read_bytes())
        for target in self.source.rglob("*"):
            file = str(target.relative_to(self.source))
            if not file.startswith("build/") and (target.is_file() or target.is_symlink()) and file not in files:
                target.unlink()
        python, link = ROOT / "build" / "python", self.python().parents[1]
        if python.exists() and not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(python.resolve())
        return digest.hexdigest()[:16]

    def configure(self, package, alone=False):
        """Programs are not linked anew when the library is, whose files are compiled alone: one compilation and one
        link for an error. With `alone` every file has a command of its own."""
        command = ["cmake", "--preset", "release", "-DZEROLOSS_BUILD_TESTS=ON", "-DZEROLOSS_BUILD_TORCH=OFF",
                   "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
                   "-DZEROLOSS_UNITY=tests|apps"]
        command.append("-DCMAKE_UNITY_BUILD=OFF" if alone else "-UCMAKE_UNITY_BUILD")
        if shutil.which("ccache"):
            command.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
        if package:
            command += ["-DZEROLOSS_BUILD_PYTHON=ON", f"-DPython_EXECUTABLE={self.python()}"]
        status, output = start(command, cwd=self.source, env=self.environment)
        if status != 0:
            sys.exit(f"planted.py: cmake failed\n{output}")

    def make(self, judges):
        """None, or what the compiler says."""
        targets = ["zeroloss"] + [f"test_{j}" for j in judges if j not in ("adversary", "checker")]
        targets += ["_core"] * ("adversary" in judges) + ["bin/zeroloss", "bin/zeroloss-check"] * ("checker" in judges)
        status, output = start(["ninja", "-C", str(self.build), "-j", self.jobs, *targets], env=self.environment)
        return None if status == 0 else output

    def write(self, error, planted):
        text = (ROOT / "src" / error.file).read_text(encoding="utf-8")
        (self.source / "src" / error.file).write_text(error.planted_in(text) if planted else text, encoding="utf-8")


# ---- judges ------------------------------------------------------------------------------------------------------


def first_failure(output):
    """The test that a program of GoogleTest failed in, or was in when it ended; the adversary's first false proof."""
    for pattern in (r"^\[  FAILED  \] (\S+?),? ", r"^  FALSE  ([^:\n]+)", r"^(.*): exit status", r"^(.*: [^:]+)\Z"):
        if found := re.search(pattern, output, re.MULTILINE):
            return found[1]
    running = re.findall(r"^\[ RUN      \] (\S+)", output, re.MULTILINE)
    return running[-1] if running else "?"


def own_tests(file):
    """A filter of GoogleTest: the suites of ROOM/NAME_test.cpp, which is about src/ROOM/NAME.cpp."""
    tests = ROOT / "tests" / Path(file).parent / f"{Path(file).stem}_test.cpp"
    if not tests.exists():
        return None
    suites = dict.fromkeys(re.findall(r"^TEST\w*\((\w+),", tests.read_text(encoding="utf-8"), re.MULTILINE))
    return ":".join(f"*{suite}*.*" for suite in suites) + "-*Slow*"


def ask(copy, judge, limit, fast, first=None):
    """(None or what failed, seconds): the tests of the filter `first`, the fast ones, then the slow unless `fast`."""
    began = time.monotonic()
    if judge == "adversary":
        script = [copy.python(), copy.source / "tests" / "adversary" / "adversary.py"]
        rounds = [[*script, "--known"], [*script, "--count", ADVERSARY_CASES, "--jobs", copy.jobs]]
    elif judge == "checker":
        programs = [copy.build / "bin" / "zeroloss", copy.build / "bin" / "zeroloss-check"]
        rounds = [[sys.executable, copy.source / "tests" / "checker" / "commands.py", *programs, "--no-lies"]]
    else:
        program = copy.build / "tests" / f"test_{judge}"
        rounds = [[program, "--gtest_fail_fast", f"--gtest_filter={tests}"]
                  for tests in [first] * bool(first) + ["-*Slow*"] + ["*Slow*"] * (not fast)]
    for command in rounds:
        status, output = start(list(map(str, command)), limit, cwd=copy.build / "tests", env=copy.environment)
        if status != 0:
            how = " (hangs)" if status is None else f" (signal {-status})" if status < 0 else ""
            return f"{judge}.{first_failure(output)}{how}", time.monotonic() - began
    return None, time.monotonic() - began


class Results:
    """Lines of a file, each a judge found green or an error judged; those of other sources do not count."""

    def __init__(self, file, tree):
        self.file, self.tree, self.lines = file, tree, {}
        if file.exists():
            for line in file.read_text(encoding="utf-8").splitlines():
                try:
                    result = json.loads(line)
                except json.JSONDecodeError:  # the run ended while it was written
                    continue
                if result["tree"] == tree:
                    self.lines[result["of"]] = result

    def get(self, of):
        return self.lines.get(of)

    def add(self, of, **what):
        self.lines[of] = {"tree": self.tree, "of": of, **what}
        with self.file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(self.lines[of]) + "\n")


def limits(copy, judges, results, fast):
    """How long each judge may take, from how long it takes when nothing is planted."""
    allowed = {}
    for judge in judges:
        if not (green := results.get(f"judge {judge}")):
            failure, seconds = ask(copy, judge, None, fast)
            if failure:
                sys.exit(f"planted.py: nothing is planted, and {failure} fails")
            results.add(f"judge {judge}", seconds=round(seconds, 1))
            green = results.get(f"judge {judge}")
            print(f"{'(nothing planted)':28} {judge} is green after {seconds:.0f} s", flush=True)
        allowed[judge] = max(LEAST_LIMIT, 3 * green["seconds"])
    return allowed


def verdict(copy, error, judges, allowed, fast):
    """(outcome, by which test)."""
    if complaint := copy.make(judges):
        print(complaint[-3000:])
        return "does not compile", None
    for judge in judges:
        own = own_tests(error.file) if error.file.startswith(f"{judge}/") else None
        failure, _ = ask(copy, judge, allowed[judge], fast, own)
        if failure:
            return "caught", failure
    return "SURVIVED", None


# ---- commands ----------------------------------------------------------------------------------------------------


def run(errors, options):
    options.work.mkdir(parents=True, exist_ok=True)
    copy = Copy(options.work, options.jobs)
    results = Results(options.work / "results.jsonl", copy.renew() + " fast" * options.fast)
    copy.configure(options.package)
    asked = {e.name: e.judges + ["adversary"] * options.package for e in errors}
    todo = [e for e in errors if not results.get(f"{e.name} {e.digest()}")]
    needed = sorted({judge for e in todo for judge in asked[e.name]})
    if todo and (complaint := copy.make(needed)):
        sys.exit(f"planted.py: nothing is planted, and the build fails\n{complaint[-3000:]}")
    allowed = limits(copy, needed, results, options.fast)
    outcomes = []
    for error in errors:
        of = f"{error.name} {error.digest()}"
        if not results.get(of):
            began = time.monotonic()
            try:
                copy.write(error, planted=True)
                outcome, by = verdict(copy, error, asked[error.name], allowed, options.fast)
            finally:
                copy.write(error, planted=False)
            results.add(of, outcome=outcome, by=by, seconds=round(time.monotonic() - began, 1))
        result = results.get(of)
        outcomes.append(result["outcome"])
        by = f" by {result['by']}" if result["by"] else f": {error.breaks}"
        print(f"{error.name:28} {result['outcome']}{by} in {result['seconds']:.0f} s", flush=True)
    print(", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in ("caught", "SURVIVED", "does not compile")))
    return outcomes.count("caught") == len(outcomes)


def user_of(header, source, compiled):
    """One of the files `compiled` that includes it, through other headers too."""
    waiting, seen = [header], set()
    while waiting:
        seen.add(header := waiting.pop(0))
        included, beside = f'#include "{header.relative_to(source)}"', f'#include "{header.name}"'
        for user in sorted(source.rglob("*.[ch]pp")):
            text = user.read_text(encoding="utf-8")
            if user not in seen and (included in text or (user.parent == header.parent and beside in text)):
                if user.suffix == ".cpp":
                    if str(user) in compiled:
                        return user
                    continue
                waiting.append(user)
    sys.exit(f"planted.py: nothing includes {header}")


def compile_all(errors, options):
    """All errors of a file together, unless two share a place; the syntax only."""
    copy = Copy(options.work, options.jobs)
    copy.renew()
    copy.configure(False, alone=True)
    commands = {c["file"]: c for c in json.loads((copy.build / "compile_commands.json").read_text(encoding="utf-8"))}
    fine = True
    for file in dict.fromkeys(e.file for e in errors):
        target = copy.source / "src" / file
        users = [target] if str(target) in commands else [user_of(target, copy.source / "src", commands)]
        waiting = [e for e in errors if e.file == file]
        while waiting:
            text, together = (ROOT / "src" / file).read_text(encoding="utf-8"), []
            for error in waiting:
                if text.count(error.old) == 1:
                    text, together = error.planted_in(text), [*together, error]
            target.write_text(text, encoding="utf-8")
            for user in users:
                command = commands[str(user)]
                status, output = start(["sh", "-c", command["command"] + " -fsyntax-only"], cwd=command["directory"],
                                       env=copy.environment)
                print(f"{file:28} {len(together)} errors {'compile' if status == 0 else 'do not compile'}", flush=True)
                if status != 0:
                    print(output)
                fine = fine and status == 0
            waiting = [e for e in waiting if e not in together]
            copy.write(together[0], planted=False)
    return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["list", "check", "compile", "run"])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--work", "--build", type=Path, default=ROOT / "build" / "planted", metavar="DIR",
                        help="the copy, its build and the results (default: build/planted)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="compilations at a time")
    parser.add_argument("--judges", metavar="NAME,..", help="these alone, as in kernel,proof")
    parser.add_argument("--fast", action="store_true", help="the tests of `make test` alone")
    parser.add_argument("--package", action="store_true", help="ask the tests of the Python package last")
    options = parser.parse_intermixed_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what it started ends with it
    errors, problems = read_errors(ROOT)
    if options.command == "check":
        print(*problems, f"{len(errors)} errors have one place each, {len(problems)} do not", sep="\n")
        sys.exit(1 if problems else 0)
    if problems:
        print(*problems, sep="\n", file=sys.stderr)
    errors = chosen(errors, options.names)
    for error in errors if options.judges else []:
        error.judges = options.judges.split(",")
    if options.command == "list":
        for error in errors:
            print(f"{error.name:28} {error.file:28} {error.breaks} [{', '.join(error.judges)}]")
    else:
        work = {"compile": compile_all, "run": run}[options.command]
        sys.exit(0 if work(errors, options) and not problems else 1)


if __name__ == "__main__":
    main()
