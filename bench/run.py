"""Runs zeroloss and its peers in turn, checks that they agree, writes bench/results/<date>-<processor>.json and
table.md.

Every program is started once and then asked for one measurement at a time (kernel_bench.cpp and peers.py say how), so
that rounds go ours, peer, ours, peer, .. and whatever else the machine does falls on all alike. Standard library only.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
GEMM = 4000  # side of the square products that stand for the machine's peak
DTYPES = ("float64", "float32")
NUMPY_WAYS = ("plain", "in_place", "tiles")
NEURAL_TANGENTS_WAYS = ("layer", "network")


class Program:
    """A program that answers lines with JSON lines."""

    def __init__(self, *command):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([str(c) for c in command], **pipes)

    def ask(self, *words):
        self.process.stdin.write(" ".join(str(w) for w in words) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"run: {' '.join(self.process.args)} stopped at: {' '.join(str(w) for w in words)}")
        time.sleep(0.2)  # its threads spin for a moment before they sleep
        return json.loads(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Ends it; from then on peak_bytes is the largest memory it held."""
        self.process.stdin.close()
        _, _, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = 0
        self.peak_bytes = usage.ru_maxrss * 1024


def certify(command, data, n):
    """The whole command, from starting the process to its end, and the memory it took."""
    begin = time.perf_counter()
    process = subprocess.Popen([str(command), "certify", data, "--n", str(n), "--json"], stdout=subprocess.PIPE)
    answer = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - begin
    if process.returncode != 0:
        sys.exit(f"run: zeroloss certify ended with {process.returncode}")
    result = json.loads(answer)
    found = {key: result[key] for key in ("lambda_min", "lambda_min_verified")}
    return {"seconds": seconds, "peak_bytes": usage.ru_maxrss * 1024, **found}


def use_the_commands_blas(folder):
    """The command chooses BLAS kernels that fit the processor; our benchmarks get the same."""
    info = subprocess.run([folder / "zeroloss", "info", "--json"], stdout=subprocess.PIPE, check=True)
    os.environ.setdefault("OPENBLAS_CORETYPE", json.loads(info.stdout)["blas_kernel"])


def show(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def interleave(measurements, rounds, warm_ups):
    """Each of the named measurements once a round; returns {name: [answer of each round]} without the warm-ups."""
    answers = {name: [] for name in measurements}
    for r in range(-warm_ups, rounds):
        for name, measure in measurements.items():
            show(f"{'warm-up' if r < 0 else f'round {r + 1} of {rounds}'}: {name}")
            answer = measure()
            if r >= 0:
                answers[name].append(answer)
    show("")
    return answers


def busy_share(seconds=2.0):
    """The share of the processors that others use now."""
    def ticks():
        words = [int(w) for w in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        return sum(words), words[3] + words[4]
    (all_before, idle_before), _, (all_after, idle_after) = ticks(), time.sleep(seconds), ticks()
    return 1 - (idle_after - idle_before) / (all_after - all_before)


def processor():
    with contextlib.suppress(OSError, AttributeError):
        return re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())[1]
    return "unknown"


def revision():
    try:
        found = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"], capture_output=True, text=True)
    except OSError:  # no git here
        return None
    return found.stdout.strip() or None


def measure(options, data, folder):
    """All measurements, as {name: [answers]}, and what the programs say about themselves."""
    n, bench = options.n, options.bin / "kernel_bench"
    python = {name: options.env / name / "bin/python" for name in ("numpy", "neural-tangents")}
    peer = lambda name: (python[name], HERE / "peers.py", name, data, n)
    command = options.bin / "zeroloss"

    programs = (bench, data, n), peer("numpy"), peer("neural-tangents")
    with Program(*programs[0]) as ours, Program(*programs[1]) as numpy, Program(*programs[2]) as tangents:
        machine = json.loads(subprocess.run([command, "info", "--json"], stdout=subprocess.PIPE, check=True).stdout)
        machine |= {"cores": len(os.sched_getaffinity(0)), "processor": processor()}
        d = numpy.ask("shape")["d"]
        peers = {"numpy": numpy.ask("info"), "neural-tangents": tangents.ask("info")}

        quick = {}
        for t in DTYPES:
            quick[f"gemm {t}"] = lambda t=t: ours.ask("gemm", t, GEMM)
            for way in NUMPY_WAYS:
                quick[f"gram {t} numpy {way}"] = lambda t=t, way=way: numpy.ask("gram", t, way)
            quick[f"gram {t} zeroloss"] = lambda t=t: ours.ask("gram", t)
            for way in NEURAL_TANGENTS_WAYS:
                quick[f"gram {t} neural-tangents {way}"] = lambda t=t, way=way: tangents.ask("gram", t, way)
            quick[f"products {t} zeroloss"] = lambda t=t: ours.ask("products", t)
        quick["cholesky zeroloss"] = lambda: ours.ask("cholesky")
        answers = interleave(quick, options.rounds, 1)

        # Entries at evenly spaced points, against numpy's in float64.
        m, files = min(n, 1000), {}
        for t in DTYPES:
            for name, program in {"zeroloss": ours, "numpy": numpy, "neural-tangents": tangents}.items():
                files[f"{t} {name}"] = folder / f"{t}-{name}"
                program.ask("entries", t, files[f"{t} {name}"], m)
        exact = files["float64 numpy"]
        differences = {who: numpy.ask("difference", path, exact)["largest"] for who, path in files.items()}

    with Program(bench, data, n) as ours, Program(*peer("numpy")) as eigh, Program(*peer("numpy")) as cholesky:
        slow = {
            "lambda_min zeroloss": lambda: ours.ask("lambda_min"),
            "lambda_min numpy cholesky": lambda: cholesky.ask("lambda_min", "cholesky"),
            "certify zeroloss": lambda: certify(command, data, n),
            "lambda_min numpy eigh": lambda: eigh.ask("lambda_min", "eigh"),
        }
        answers |= interleave(slow, options.slow_rounds, 0)
    peaks = {"lambda_min numpy eigh": eigh.peak_bytes, "lambda_min numpy cholesky": cholesky.peak_bytes}
    return {"d": d, "machine": machine, "peers": peers, "answers": answers, "differences": differences, "peaks": peaks}


def median(answers, key="seconds"):
    return statistics.median(a[key] for a in answers)


def fastest(answers, beginning):
    return min((name for name in answers if name.startswith(beginning)), key=lambda name: median(answers[name]))


def agreement(found):
    """[(what, number, limit)]: every number has to stay below its limit."""
    answers, differences = found["answers"], found["differences"]
    ours, command = answers["lambda_min zeroloss"][0], answers["certify zeroloss"][0]
    exact = answers["lambda_min numpy eigh"][0]["lambda_min"]
    expert = answers["lambda_min numpy cholesky"][0]["lambda_min"]
    relative = lambda value: abs(value / exact - 1)
    below = lambda bound: float("inf") if bound is None or bound > exact else relative(bound)
    return [
        ("lambda_min, zeroloss and scipy eigh, relative", relative(ours["lambda_min"]), 1e-9),
        ("lambda_min, scipy Cholesky + Lanczos and scipy eigh, relative", relative(expert), 1e-9),
        ("lambda_min, `zeroloss certify` and scipy eigh, relative", relative(command["lambda_min"]), 1e-9),
        ("verified bound below scipy eigh, relative", below(ours["verified"]), 1e-6),
        ("verified bound of `zeroloss certify` below scipy eigh, relative", below(command["lambda_min_verified"]),
         1e-6),
        ("Gram entries, zeroloss and numpy, float64", differences["float64 zeroloss"], 1e-12),
        ("Gram entries, neural-tangents and numpy, float64", differences["float64 neural-tangents"], 1e-6),
        ("Gram entries, zeroloss in float32 and numpy in float64", differences["float32 zeroloss"], 1e-3),
        ("Gram entries, numpy in float32 and in float64", differences["float32 numpy"], 1e-3),
        ("Gram entries, neural-tangents in float32 and numpy in float64", differences["float32 neural-tangents"], 1e-3),
    ]


def table(found, checks):
    """The Markdown of results/table.md."""
    answers, n, d = found["answers"], found["n"], found["d"]
    seconds = lambda name: median(answers[name])

    def time_text(name):
        runs = [a["seconds"] for a in answers[name]]
        digits = 3 if max(runs) < 1 else 2 if max(runs) < 100 else 0
        return f"{statistics.median(runs):.{digits}f} s ({min(runs):.{digits}f} to {max(runs):.{digits}f})"

    def versus(what, ours, name, peer):
        return what, time_text(ours), f"{peer}: {time_text(name)}", f"{seconds(name) / seconds(ours):.1f}x"

    ways = {"plain": "as one writes it", "in_place": "in place", "tiles": "tiled, threaded, half"}
    rows = []
    for t in DTYPES:
        ours = f"gram {t} zeroloss"
        best, tangents = fastest(answers, f"gram {t} numpy"), fastest(answers, f"gram {t} neural-tangents")
        rows.append(versus(f"Gram matrix, {t}", ours, f"gram {t} numpy plain", "numpy, as one writes it"))
        if not best.endswith("plain"):
            rows.append(versus(f"Gram matrix, {t}", ours, best, f"numpy, its best ({ways[best.split()[-1]]})"))
        rows.append(versus(f"Gram matrix, {t}", ours, tangents, "neural-tangents"))
        share = statistics.median(a["seconds"] / a["gram_seconds"] for a in answers[f"products {t} zeroloss"])
        rows.append((f"inner products' share of it, {t}", f"{100 * share:.0f} %", "", ""))
    eigh, expert = "lambda_min numpy eigh", "lambda_min numpy cholesky"
    lowest, all_of_it = "lambda_min; ours with its proof", "all of `zeroloss certify`; peer: lambda_min alone"
    rows.append(versus(lowest, "lambda_min zeroloss", eigh, "numpy + scipy eigh"))
    rows.append(versus(lowest, "lambda_min zeroloss", expert, "numpy + scipy Cholesky, Lanczos"))
    rows.append(versus(all_of_it, "certify zeroloss", eigh, "numpy + scipy eigh"))
    gigabytes = lambda b: f"{b / 1e9:.2f} GB"
    peak, peer_peak = max(a["peak_bytes"] for a in answers["certify zeroloss"]), found["peaks"][eigh]
    limit = 1.3 * 4 * n * (n + 1) + 16 * n * d
    rows.append(("peak memory of the same", f"{gigabytes(peak)} (aim: below {gigabytes(limit)})",
                 f"numpy + scipy eigh: {gigabytes(peer_peak)}", f"{peer_peak / peak:.1f}x"))

    def rate(what, operations, name, t):
        ours, peak = operations / seconds(name) / 1e9, 2 * GEMM**3 / seconds(f"gemm {t}") / 1e9
        gemm = f"{'dgemm' if t == 'float64' else 'sgemm'} of {GEMM} x {GEMM}: {peak:.0f} GF/s"
        return what, f"{ours:.1f} GF/s", gemm, f"{100 * ours / peak:.0f} %"

    rows.append(rate("Cholesky factorisation, packed", n**3 / 3, "cholesky zeroloss", "float64"))
    for t in DTYPES:
        rows.append(rate(f"inner products of the Gram matrix, {t}", n * (n + 1) * d, f"products {t} zeroloss", t))

    machine = found["machine"]
    lines = [
        f"{found['source']}, n = {n:,}, d = {d}. {machine['processor']}, {machine['cores']} cores, BLAS kernel "
        f"{machine['blas_kernel']}. {found['date']}, zeroloss {found['revision'] or machine['version']}; "
        f"{found['rounds']} rounds, {found['slow_rounds']} for lambda_min and certify: median (least to most).",
        "", "| what | zeroloss | peer | ratio |", "|---|---|---|---|",
    ]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    lines += ["", "| agreement | largest difference | limit | |", "|---|---|---|---|"]
    for what, number, limit in checks:
        lines.append(f"| {what} | {number:.1e} | {limit:.0e} | {'yes' if number < limit else '**no**'} |")
    return "\n".join(lines) + "\n"


def points(options, folder):
    """(the file to read, what it is)"""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    stored = cache / "zeroloss/mnist/train-images-idx3-ubyte.gz"
    data = options.data or (str(stored) if stored.exists() else "sphere")
    if data != "sphere":
        return data, "MNIST" if "idx3-ubyte" in data else pathlib.Path(data).name
    if not options.data:
        print(f"run: no {stored} (zeroloss data get mnist): random points on the sphere instead", file=sys.stderr)
    data = str(folder / "sphere.npy")
    subprocess.run([options.env / "numpy/bin/python", HERE / "peers.py", "sphere", data, str(options.n)], check=True)
    return data, "random points on the sphere"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", nargs="?", help="an idx file of images, a .npy file, or sphere")
    parser.add_argument("n", nargs="?", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=5, help="of what takes seconds [5]")
    parser.add_argument("--slow-rounds", type=int, default=3, help="of lambda_min and certify, minutes a round [3]")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results")
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of kernel_bench and zeroloss")
    parser.add_argument("--env", type=pathlib.Path, required=True, help="folder of the peers' environments")
    options = parser.parse_args()

    use_the_commands_blas(options.bin)
    busy = busy_share()
    if busy > 0.1:
        print(f"run: others use {100 * busy:.0f} % of the processors: these times are no good for publishing",
              file=sys.stderr)
    with tempfile.TemporaryDirectory() as temporary:
        data, source = points(options, pathlib.Path(temporary))
        found = {"date": datetime.date.today().isoformat(), "revision": revision(), "source": source, "n": options.n,
                 "rounds": options.rounds, "slow_rounds": options.slow_rounds, "busy_before": busy}
        found |= measure(options, data, pathlib.Path(temporary))
    checks = agreement(found)
    found["agreement"] = [{"what": what, "number": number, "limit": limit} for what, number, limit in checks]

    text = table(found, checks)
    options.results.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^a-z0-9]+", "-", found["machine"]["processor"].lower()).strip("-")
    (options.results / f"{found['date']}-{name}.json").write_text(json.dumps(found, indent=1) + "\n")
    (options.results / "table.md").write_text(text)
    print(text)
    sys.exit(any(not number < limit for _, number, limit in checks))


if __name__ == "__main__":
    main()
