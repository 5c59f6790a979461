"""Long work: the interpreter goes on, Ctrl-C stops it, reports arrive."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import zeroloss

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


def test_ctrl_c_from_the_keyboard_ends_a_script():
    script = textwrap.dedent("""
        import sys, zeroloss
        print("begun", flush=True)
        zeroloss.fit("digits", n=500, width=4000, max_steps=10**7, tolerance=1e-14)
    """)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0 and "KeyboardInterrupt" in errors


def test_other_threads_run_meanwhile():
    counted = 0
    done = threading.Event()

    def count():
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    zeroloss.fit("digits", classes=["3", "8"], n=200, width=2000, max_steps=100, certify_every=0)
    done.set()
    thread.join()
    assert counted > 5


def test_reports_come_in_order_and_an_error_in_one_stops_the_work():
    reports = []
    zeroloss.certify("digits", n=400, progress=lambda r: reports.append((r.stage, r.done, r.total, r.finished)))
    stages = [stage for stage, *_ in reports]
    assert any("Cholesky" in stage for stage in stages)
    assert sum(finished for *_, finished in reports) >= 2
    for (a, done_a, *_), (b, done_b, *_) in zip(reports, reports[1:]):
        assert a != b or done_b >= done_a

    def refuse(report):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        zeroloss.fit("digits", **LONG, progress=refuse)


def test_bars_are_drawn_where_tqdm_is(capfd, monkeypatch):
    pytest.importorskip("tqdm")
    zeroloss.fit("digits", classes=["3", "8"], n=100, width=1000, max_steps=500, certify_every=0, progress=True)
    assert "%|" in capfd.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    zeroloss.fit("digits", classes=["3", "8"], n=100, width=1000, max_steps=500, certify_every=0, progress=True)
    assert capfd.readouterr().err == ""


def test_work_after_a_fork_does_not_hang():
    """OpenMP's threads are those of a thread that has ended, so a child begins with none."""
    zeroloss.certify("digits", n=100)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            zeroloss.certify("digits", n=100)
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
    pytest.fail("the child hangs")
