"""zeroloss report --watch: what it reads of a run in work, and its server."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from run_folders import ROOT, make_conv, run_of, worked_on
from zeroloss import figures, report
from zeroloss.figures.checkpoint import CURVE, read_checkpoint
from zeroloss.figures.work import figures_of, read_work
from zeroloss.report import live, watch, workers
from zeroloss.report.elements import text

EARLIER = ROOT / "tests/fixtures/before_rooms"


def test_a_checkpoint_has_the_rows_of_metrics():
    """`interrupted` was written with both at one time."""
    kind, rows, options = read_checkpoint(EARLIER / "interrupted/checkpoint.safetensors")
    assert kind == "fit" and options["width"] == "4"
    table = figures.Run(EARLIER / "interrupted", {}, {}).table("metrics.csv")
    assert [row["step"] for row in rows] == [row["step"] for row in table]
    assert rows[-1]["relative_misfit"] == table[-1]["relative_misfit"]
    assert rows[-1]["lambda_min"] == table[-1]["lambda_min"]


def test_columns_are_those_of_the_command():
    header = (run_of("fit") / "metrics.csv").read_text().splitlines()[0].split(",")[1:]
    assert header == list(CURVE)[: len(header)] and len(header) >= len(CURVE) - 1


def test_a_checkpoint_of_conv(tmp_path):
    history = [{"step": 10, "epoch": "0.5", "learning_rate": "0.1", "train_loss": "2.1", "train_error": "0.8",
                "test_error": None, "images_per_s": "900", "block_norms": ["1"]}]
    told = {"kind": "conv_checkpoint", "state": json.dumps({"history": history})}
    header = json.dumps({"__metadata__": told}).encode()
    (tmp_path / "checkpoint.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    work = read_work(tmp_path)
    assert work.kind == "conv" and live.headline(work) == "At work: epoch 0.5, loss 2.1"
    assert set(figures_of(work)) == {"error", "loss", "learning_rate"}


@pytest.mark.parametrize("damage", [b"", b"\xff" * 40, b"\x02" + b"\0" * 7 + b"{}"[:1], b"\x02" + b"\0" * 7 + b"[]"])
def test_what_is_not_whole_is_refused(damage, tmp_path):
    (tmp_path / "checkpoint.safetensors").write_bytes(damage)
    with pytest.raises(figures.RunError, match="checkpoint"):
        read_work(tmp_path)
    (tmp_path / "checkpoint.safetensors").unlink()
    (tmp_path / "trials.db").write_bytes(damage or b"x")
    with pytest.raises(figures.RunError, match="trials"):
        read_work(tmp_path)


def test_a_sweep_in_work_counts_its_trials(tmp_path):
    (tmp_path / "trials.db").write_bytes((EARLIER / "sweep/trials.db").read_bytes())
    work = read_work(tmp_path)
    table = figures.Run(EARLIER / "sweep", {}, {}).table("metrics.csv")
    assert [(row["width"], row["trials"], row["successes"]) for row in work.rows] == [
        (row["width"], row["trials"], row["successes"]) for row in table]
    (tmp_path / "trials.db").unlink()
    (tmp_path / "metrics.csv").write_bytes((EARLIER / "sweep/metrics.csv").read_bytes())
    assert live.headline(read_work(tmp_path)) == live.headline(work).replace(" of 8 trials", " trials")


def test_news_of_a_run(tmp_path):
    run = tmp_path / "run"
    assert live.news(run)[0] == "waiting for run"
    with worked_on(tmp_path / "run.partial") as partial:
        assert live.news(run)[0] == "At work: nothing is measured yet"
        (partial / "trials.db").write_bytes((EARLIER / "sweep/trials.db").read_bytes())
        title, body, last = live.news(run)
    assert title == "At work: 8 of 8 trials done, 7 of them succeed" and not last and "Cells" in text(body)
    assert live.news(run)[0].startswith("Stopped: 8 of 8 trials")
    (partial / "trials.db").unlink()
    for name in ("checkpoint.safetensors", "metrics.csv", "result.json"):
        (partial / name).write_bytes((EARLIER / "interrupted" / name).read_bytes())
    title, body, last = live.news(partial)  # either name will do
    assert title.startswith("Interrupted: step 1,") and not last
    assert text(body).count("<figure") == 2
    make_conv(run)
    title, body, last = live.news(run)
    assert title == "done: 10.00 % of 1,000 test images are wrong" and last


@pytest.mark.parametrize("kind, title", [
    ("fit", "At work: nothing is measured yet"), ("sweep", "At work: 0 trials done, 0 of them succeed"),
    ("conv", "At work: nothing is measured yet"), ("linear", "At work: linear has no answer yet"),
    ("memorize", "At work: memorize has no answer yet"), ("certify", "At work: certify has no answer yet"),
    ("", "At work: nothing is measured yet")])
def test_a_run_that_has_just_begun_says_what_runs(kind, title, tmp_path, monkeypatch):
    (tmp_path / "run.partial").mkdir()
    training = ["/usr/bin/zeroloss-torch", "conv", "train"]
    command = training if kind == "conv" else ["/usr/bin/zeroloss", "--quiet", kind, "<b>"]
    monkeypatch.setattr(live, "workers", lambda folder: [workers.Worker(7, command, 0.0)])
    said, body, last = live.news(tmp_path / "run")
    assert said == title and not last
    shown = text(body)
    assert live.WHEN[kind].split(" (")[0] in shown and "What is running" in shown and "at work since" in shown
    assert f"zeroloss {kind}" in shown and "<b>" not in shown
    monkeypatch.setattr(live, "workers", lambda folder: None)  # where the system does not tell
    said, body, _ = live.news(tmp_path / "run")
    assert said.startswith("At work: ") and "What is running" not in text(body)


@pytest.mark.skipif(not (workers.PROCESSES / "locks").exists(), reason="the system does not tell who holds a lock")
def test_who_works_on_a_run(tmp_path):
    partial = tmp_path / "run.partial"
    before = live.stamp(tmp_path / "run")
    with worked_on(partial):
        (worker,) = workers.workers(partial)
        assert worker.pid == os.getpid() and sys.executable.rpartition("/")[2] in worker.command[0]
        assert 0 <= time.time() - worker.since < 1e5
        held = live.stamp(tmp_path / "run")
    assert workers.workers(partial) == [] and live.stamp(tmp_path / "run") not in (before, held)
    title, body, last = live.news(tmp_path / "run")
    assert title == "Stopped: nothing is measured yet" and not last
    assert "No process that is seen from here" in text(body)
    assert workers.workers(tmp_path / "absent") is None


def test_a_sweep_in_work_is_drawn(tmp_path):
    cells = [{"d": d, "width": width, "trials": 4, "successes": d} for d in (1, 2) for width in (1, 2, 10)]
    spec = figures_of(live.Work("sweep", cells))["success"]
    assert {v["note"] for v in spec["data"]["values"]} >= {"d 2, width 10: 2 of 4"}
    assert "map of success over d and width" in figures.Figure("success", spec).description
    figures.Figure("success", spec).vega()
    steps = [{**cell, "step": 0.1 * k} for k, cell in enumerate(cells)]  # automatic ones
    assert figures_of(live.Work("sweep", steps, {"d": "1,2", "width": "1,2,10", "step": "auto"}))["success"] == spec
    assert not figures_of(live.Work("sweep", [{**cell, "n": cell["trials"] + k} for k, cell in enumerate(cells)]))
    assert not figures_of(live.Work("sweep", []))


def test_several_outputs_are_drawn_as_several_curves(tmp_path):
    (tmp_path / "metrics.csv").write_bytes((run_of("classes") / "metrics.csv").read_bytes())
    spec = figures_of(read_work(tmp_path))["curve"]
    assert len({v["curve"] for v in spec["data"]["values"]}) == 10
    figures.Figure("curve", spec).vega()


def test_one_thing_has_one_colour_of_a_run_in_work():
    work = read_work(EARLIER / "interrupted")
    shown = [figure.shown(figures.LIGHT)["encoding"]["color"]["scale"] for figure in
             figures.of_specs(figures_of(work)).values()]
    colours = [dict(zip(scale["domain"], scale["range"])) for scale in shown]
    assert len({colours[0]["measured"], colours[1]["all weights"], colours[1]["farthest neuron"]}) == 3
    assert colours[0]["bound, if it holds"] == colours[1]["neuron: bound, if it holds"]


def test_server_answers_this_machine_alone(tmp_path):
    make_conv(tmp_path / "run")
    with watch.server(tmp_path / "run") as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        try:
            assert server.server_address[0] == "127.0.0.1"
            with urllib.request.urlopen(address) as answer:
                page = answer.read().decode()
            assert "connect-src &#x27;self&#x27;" in page and "10.00 % of 1,000" in page
            with urllib.request.urlopen(f"{address}news?seen=") as answer:
                news = json.loads(answer.read())
            assert news["title"].startswith("done: ") and "<figure" in news["body"]
            seen = urllib.parse.quote(live.stamp(tmp_path / "run"))
            with urllib.request.urlopen(f"{address}news?seen={seen}") as answer:
                assert json.loads(answer.read()) == {}
            for url, headers, code in ((address, {"Host": "example.org"}, 403), (f"{address}../etc", {}, 404)):
                with pytest.raises(urllib.error.HTTPError) as refused:
                    urllib.request.urlopen(urllib.request.Request(url, headers=headers))
                assert refused.value.code == code
                refused.value.close()
        finally:
            server.shutdown()


def test_a_damaged_file_leaves_the_page_as_it_was(tmp_path):
    partial = tmp_path / "run.partial"
    partial.mkdir()
    metrics = EARLIER / "interrupted/metrics.csv"
    (partial / "metrics.csv").write_bytes(metrics.read_bytes())
    page = watch.Watch(tmp_path / "run")
    seen = page.now()
    assert ": step 1," in seen[1]
    (partial / "checkpoint.safetensors").write_bytes(b"not yet whole")
    assert page.now() == seen


def test_command_watches_until_ctrl_c(tmp_path):
    line = [sys.executable, "-u", "-c", "import sys, run_folders; from zeroloss import report; sys.exit(report.main())",
            "--watch", str(tmp_path / "run")]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(line, cwd=ROOT / "tests/python", **pipes,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    said = process.stdout.readline()
    assert said.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(said.split()[0]) as answer:
        assert b"Nothing there yet" in answer.read()
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")


def test_command_says_what_does_not_go_together(tmp_path, capsys):
    for arguments in (["a", "b", "--watch"], ["a", "--watch", "--format", "svg"], ["a", "--watch", "--out", "b"],
                      ["a", "--port", "80"], ["a", "--watch", "--port", "70000"]):
        assert report.main(arguments) == 2
        assert "port" in (told := capsys.readouterr().err) or "--watch" in told
    with watch.server(tmp_path) as server:
        assert report.main([str(tmp_path), "--watch", "--port", str(server.server_port)]) == 3
        assert "in use" in capsys.readouterr().err
