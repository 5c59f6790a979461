"""Long work: the interpreter goes on, Ctrl-C stops it, reports arrive."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import types
from itertools import pairwise

import numpy as np
import pytest

import zeroloss
from zeroloss.api.progress import shown

LONG = dict(n=200, width=2000, max_steps=10**7, tolerance=1e-14, certify_every=0)


def interrupted_soon(what):
    """Sends this process SIGINT as soon as `what` reports its first steps."""
    sent = threading.Event()

    def report(r):
        if r.done > 0 and not sent.is_set():
            sent.set()
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        what(report)
    assert sent.is_set()


def test_ctrl_c_raises_and_the_next_call_works():
    interrupted_soon(lambda report: zeroloss.fit("digits", **LONG, progress=report))
    assert zeroloss.fit("digits", n=20, width=10, max_steps=5).steps == 5


def test_ctrl_c_keeps_the_checkpoint_and_resuming_gives_the_same_bits(tmp_path):
    options = dict(classes=["3", "8"], n=40, width=300, max_steps=4000, certify_every=0, tolerance=1e-14, step=0.01)
    file = tmp_path / "checkpoint.safetensors"
    whole = zeroloss.fit("digits", **options)
    interrupted_soon(lambda report: zeroloss.fit("digits", **options, checkpoint=file, progress=report))
    assert file.exists()
    resumed = zeroloss.fit("digits", **options, checkpoint=file, resume=True)
    assert resumed.steps == whole.steps
    for mine, other in zip(resumed.network.outputs, whole.network.outputs):
        np.testing.assert_array_equal(mine.W, other.W)


def test_a_stopped_sweep_goes_on(tmp_path):
    options = dict(d=range(2, 8), width=range(2, 12), max_steps=20000, trials=5, store=tmp_path / "trials.db",
                   activation="softplus", scaling="balanced", step=0.15, tolerance=2.5e-3)  # fmt: skip
    interrupted_soon(lambda report: zeroloss.sweep("sphere:n=40,y=normal", **options, progress=report))
    swept = zeroloss.sweep("sphere:n=40,y=normal", **options)
    assert swept.complete and 0 < swept.before < swept.trials == 300


def test_ctrl_c_stops_an_estimator_within_its_factorisation():
    X, y = np.random.default_rng(0).normal(size=(3000, 5)), np.arange(3000) % 2
    model = zeroloss.NTKClassifier(activation=["relu", "erf", "gelu"])
    heard = []

    def stop():
        os.kill(os.getpid(), signal.SIGINT)
        heard.append(time.monotonic())

    timer = threading.Timer(1.0, stop)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert time.monotonic() - heard[0] < 2  # a panel of 64 columns; the whole fit takes half a minute
    assert not hasattr(model, "dual_coef_")


def test_ctrl_c_from_the_keyboard_ends_a_script():
    script = textwrap.dedent("""
        import sys, zeroloss
        print("begun", flush=True)
        zeroloss.fit("digits", n=500, width=4000, max_steps=10**7, tolerance=1e-14)
    """)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    process.stdout.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0 and "KeyboardInterrupt" in errors


def test_other_threads_run_meanwhile():
    """Work that does not end by itself: another thread has to run to stop it, after some turns of its own."""
    counted = 0
    begun = threading.Event()

    def count():
        nonlocal counted
        begun.wait()
        for _ in range(10):
            counted += 1
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=count)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        zeroloss.fit("digits", **LONG, progress=lambda r: r.done > 0 and begun.set())
    begun.set()
    thread.join()
    assert counted == 10


def test_reports_come_in_order_and_an_error_in_one_stops_the_work():
    reports = []
    zeroloss.certify("digits", n=400, progress=lambda r: reports.append((r.stage, r.done, r.total, r.finished)))
    stages = [stage for stage, *_ in reports]
    assert any("Cholesky" in stage for stage in stages)
    assert sum(finished for *_, finished in reports) >= 2
    for (a, done_a, *_), (b, done_b, *_) in pairwise(reports):
        assert a != b or done_b >= done_a

    def refuse(report):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        zeroloss.fit("digits", **LONG, progress=refuse)


def test_bars_are_drawn_where_tqdm_is(capfd, monkeypatch):
    pytest.importorskip("tqdm")
    zeroloss.fit("digits", classes=["3", "8"], n=100, width=1000, max_steps=5000, certify_every=0, progress=True)
    assert "%|" in capfd.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    zeroloss.fit("digits", classes=["3", "8"], n=100, width=1000, max_steps=5000, certify_every=0, progress=True)
    assert capfd.readouterr().err == ""


def test_there_are_as_many_bars_as_stages(monkeypatch):
    bars = []

    class Bar:
        def __init__(self, total, desc, leave):
            self.desc, self.open = desc, True
            bars.append(self)

        def refresh(self):
            assert self.open

        def close(self):
            self.open = False

    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    with shown(True) as report:
        for stage in ("one", "two"):
            for done in range(3):
                report(types.SimpleNamespace(stage=stage, done=done, total=3, finished=False))
        report(types.SimpleNamespace(stage="two", done=3, total=3, finished=True))
    assert [bar.desc for bar in bars] == ["one", "two"]
    assert not any(bar.open for bar in bars)

    bars.clear()
    with pytest.raises(LookupError), shown(True) as report:
        report(types.SimpleNamespace(stage="one", done=0, total=3, finished=False))
        assert bars[0].open
        raise LookupError
    assert not bars[0].open


def in_a_fork(what):
    """Runs `what` in a forked child; it has to end well within a minute."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            what()
            status = 0
        finally:
            os._exit(status)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            assert status == 0
            return
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    pytest.fail("the child hangs")


@pytest.mark.parametrize("name", ["certify", "a network", "a memoriser", "kernels", "linear maps"])
def test_work_after_a_fork_does_not_hang(name):
    """OpenMP's threads are those of a thread that has ended, so a child begins with none."""
    X = np.random.default_rng(0).normal(size=(500, 64))
    network = zeroloss.fit("digits", n=20, width=1000, max_steps=1).network
    memoriser = zeroloss.memorize("digits", n=200).network
    call = {
        "certify": lambda: zeroloss.certify("digits", n=100),
        "a network": lambda: network(X),
        "a memoriser": lambda: memoriser(X),
        "kernels": lambda: zeroloss.kernel.cross_gram(zeroloss.kernel.unit_rows(X), X),
        "linear maps": lambda: zeroloss.linear.factorize(X, X @ np.diag(np.linspace(0.5, 2, 64)), layers=2),
    }[name]
    call()
    in_a_fork(call)


def test_ctrl_c_stops_a_prediction():
    """Of a quarter of an hour, 4e10 values of gelu on one thread. The signal comes once the thread that works is there.
    """
    script = textwrap.dedent("""
        import os, signal, threading, time
        import numpy as np, zeroloss
        angle = np.linspace(0, 3, 10)
        network = zeroloss.fit(np.column_stack([np.cos(angle), np.sin(angle)]), np.arange(10), task="classification",
                               activation="gelu", width=100_000, max_steps=1, certify_every=0).network
        threads = lambda: len(os.listdir("/proc/self/task"))
        before = threads()
        def interrupt():
            while threads() < before + 2:  # this one, and the one that works
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGINT)
        thread = threading.Thread(target=interrupt)
        thread.start()
        try:
            network(np.ones((40_000, 2)))
        except KeyboardInterrupt:
            thread.join()
            print("stopped with", threads() - before, "threads more")
    """)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "stopped with 0 threads more\n"


def test_work_uses_the_threads_that_its_caller_may():
    """OpenMP keeps the number for each thread, and work has a thread of its own."""
    script = textwrap.dedent("""
        import ctypes, os, threading, time, zeroloss
        ctypes.CDLL("libgomp.so.1").omp_set_num_threads(1)
        assert zeroloss.thread_count() == 1
        most, done = 0, threading.Event()
        def watch():
            global most
            while not done.is_set():
                most = max(most, len(os.listdir("/proc/self/task")))
                time.sleep(0.001)
        watcher = threading.Thread(target=watch)
        watcher.start()
        time.sleep(0.05)
        before = most
        zeroloss.memorize("digits")
        done.set()
        watcher.join()
        print(most - before)
    """)
    environment = {**os.environ, "OMP_NUM_THREADS": "4"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 1


def test_slow_kernels_of_blas_are_told_once():
    if not zeroloss.blas_info().library.startswith("OpenBLAS"):
        pytest.skip("another BLAS")
    script = textwrap.dedent("""
        import warnings, zeroloss
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            zeroloss.kernel.gram([[1.0, 2.0]])
            zeroloss.certify("digits", n=20)
        blas = zeroloss.blas_info()
        told = [w for w in caught if "OPENBLAS_CORETYPE" in str(w.message)]
        assert len(told) == bool(blas.better_kernel), caught
        for w in told:
            assert w.category is RuntimeWarning and str(w.message) == blas.warning
    """)
    for kernel in ({"OPENBLAS_CORETYPE": "Prescott"}, {}):  # the first is slower than any processor of today allows
        environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"} | kernel
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment,
                              timeout=120)
        assert done.returncode == 0, done.stderr
