#!/usr/bin/env python3
"""Processes that share nothing but a network: each in a network namespace of its own, as on a machine of its own, with
MPI over TCP. Answers are those of one process, and what goes over the wires is what docs/scale.md says, ScaLAPACK's
part included.

    namespaces.py ZEROLOSS

All of it runs in a network of its own, of which nothing is left however it ends. Exits with 77 where it cannot be
tried: without root, `ip`, mpirun, or the right to make namespaces."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROCESSES = 4  # 2 x 2
BRIDGE = "bridge"
NETWORK = "10.213.77"  # of this bridge
INSIDE = "ZEROLOSS_TEST_NETWORK"  # says that this process is in the network of its own
ALONE = ["unshare", "--net", "--mount"]
SKIPPED = 77
OPTIONS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl": "tcp,self",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl_tcp_if_include": f"{NETWORK}.0/24",
    "OMPI_MCA_oob_tcp_if_include": f"{NETWORK}.0/24",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
# What mpirun calls as it would call ssh: ADDRESS COMMAND.. A host name of its own makes it another machine.
AGENT = """#!/bin/bash
address=$1; shift
exec ip netns exec n${address##*.} unshare --uts bash -c 'hostname "$0"; eval "$@"' "$address" "$@"
"""
program = Path(sys.argv[1]).resolve()
failures = []


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def expect(what, holds, detail=""):
    print("ok  " if holds else "FAIL", what, flush=True)
    if not holds:
        failures.append(what)
        print(detail, flush=True)


def ip(*command):
    subprocess.run(["ip", *command], check=True, capture_output=True, text=True)


def address(k):
    return f"{NETWORK}.{k + 1}"


def build():
    """A bridge in this namespace, and at each of its ports a namespace with one address."""
    Path("/run/netns").mkdir(exist_ok=True)  # where their names are: files, which end with this mount
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run/netns"], check=True, capture_output=True, text=True)
    ip("link", "set", "lo", "up")
    ip("link", "add", BRIDGE, "type", "bridge")
    ip("addr", "add", f"{NETWORK}.254/24", "dev", BRIDGE)
    ip("link", "set", BRIDGE, "up")
    for k in range(PROCESSES):
        name, port, inside = f"n{k + 1}", f"port{k + 1}", f"inside{k + 1}"
        ip("netns", "add", name)
        ip("link", "add", port, "type", "veth", "peer", "name", inside, "netns", name)
        ip("link", "set", port, "master", BRIDGE, "up")
        ip("-n", name, "addr", "add", f"{address(k)}/24", "dev", inside)
        ip("-n", name, "link", "set", inside, "up")
        ip("-n", name, "link", "set", "lo", "up")


def sent():
    """Bytes that each namespace has sent so far: what came in at its port of the bridge."""
    shown = subprocess.run(["ip", "-json", "-statistics", "link"], check=True, capture_output=True, text=True).stdout
    came = {link["ifname"]: link["stats64"]["rx"]["bytes"] for link in json.loads(shown)}
    return [came[f"port{k + 1}"] for k in range(PROCESSES)]


def answer(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240,
                          env={**os.environ, **OPTIONS})  # fmt: skip
    if done.returncode != 0:
        expect(" ".join(map(str, command[-6:])), False, done.stdout[-2000:] + done.stderr[-4000:])
        return None
    return json.loads(done.stdout)


def alone(*arguments):
    return answer(program, *arguments, "--json")


def together(agent, *arguments):
    """The answer of processes in their namespaces, and the bytes that they have sent, all of them."""
    hosts = ",".join(f"{address(k)}:1" for k in range(PROCESSES))
    before = sent()
    found = answer("mpirun", "--mca", "plm_rsh_agent", str(agent), "--host", hosts, "-n", str(PROCESSES), program,
                   *arguments, "--json")  # fmt: skip
    return found, [now - then for now, then in zip(sent(), before, strict=True)]


def certified_alike(agent):
    n, d = 3000, 20
    arguments = ("certify", f"sphere:n={n},d={d},y=normal", "--method", "factor")
    here, (there, bytes_sent) = alone(*arguments), together(agent, *arguments)
    if here is None or there is None:
        return
    expect(f"certify says that it was computed by {there.get('engine')}", "4 processes" in there.get("engine", ""))
    off = 2 * 60 * n * 2.0**-53 * here["lambda_max"]  # two backward errors that LAPACK's tests accept
    near = abs(here["lambda_min"] - there["lambda_min"]) <= off
    expect("certify: the same lambda_min", near, f"{here['lambda_min']} {there['lambda_min']}")
    expect("certify: verified", 0 < there["lambda_min_verified"] < here["lambda_min"])
    # Two factorisations, a residual, and the inverse: what is left of L for each strip, and the strips.
    strips = [(n - first, min(1024, n - first)) for first in range(0, n, 1024)]
    model = 8 * (2 * n * n + 2 * n * n + sum(left * left / 2 + left * width for left, width in strips))
    ratio = sum(bytes_sent) / model
    expect(f"certify: {ratio:.2f} of the bytes that the matrix asks for", 0.9 < ratio < 1.5, str(bytes_sent))


def tail_alike(agent):
    arguments = ("certify", "sphere:n=4000,d=30", "--method", "tail")
    here, (there, _) = alone(*arguments), together(agent, *arguments)
    if here is None or there is None:
        return
    # Tiles of float32 are the same, and are added up in another order, of which nothing is seen in six digits.
    near = abs(here["lambda_min_verified"] - there["lambda_min_verified"]) <= 1e-6 * here["lambda_min_verified"]
    expect("tail: the same bound", near, f"{here['lambda_min_verified']} {there['lambda_min_verified']}")


def swept_alike(agent):
    arguments = ("sweep", "sphere:n=20", "--d", "2,4", "--width", "8,24", "--trials", "6", "--max-steps", "500")
    here, (there, _) = alone(*arguments), together(agent, *arguments)
    if here is not None and there is not None:
        expect("sweep: the same cells", here["cells"] == there["cells"])


def main():
    if os.geteuid() != 0:
        skip("namespaces need root")
    for tool in ("ip", "unshare", "mpirun"):
        if shutil.which(tool) is None:
            skip(f"no {tool}")
    if INSIDE not in os.environ:
        tried = subprocess.run([*ALONE, "true"], capture_output=True, text=True)
        if tried.returncode != 0:
            skip(f"no namespaces here: {tried.stderr.strip()}")
        os.environ[INSIDE] = "1"
        os.execvp(ALONE[0], [*ALONE, sys.executable, __file__, str(program)])
    try:
        build()
    except subprocess.CalledProcessError as error:
        skip(f"no namespaces here: {' '.join(error.cmd)}: {error.stderr.strip()}")
    with tempfile.TemporaryDirectory() as folder:
        agent = Path(folder) / "agent"
        agent.write_text(AGENT, encoding="utf-8")
        agent.chmod(0o755)
        for test in (certified_alike, tail_alike, swept_alike):
            test(agent)
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
