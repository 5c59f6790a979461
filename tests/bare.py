#!/usr/bin/env python3
"""bare.py [DIST] [--work FOLDER]: installs what scripts/release.py made into a bare Debian 12 and uses it there.

A chroot by debootstrap, without a compiler (as root; 300 MB from Debian's mirror). The sums are checked; the wheel for
its Python is installed by pip, then the Debian packages by apt, each used for what it is for, and all removed again.
Without DIST it is the last commit that goes there, and README's commands build and test it, from nothing, again, and
for an ordinary user in unusual surroundings: about an hour. Prints how long each took; ends with status 1
where something fails."""

import argparse
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MIRROR = "http://deb.debian.org/debian"
APT = "apt-get install -qq --no-install-recommends"
CERTIFY = "zeroloss certify digits --require certified"
AS_ROOT = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
USE = "\n".join([
    "cmake_minimum_required(VERSION 3.25)",
    "project(use CXX)",
    "find_package(zeroloss 0.1 REQUIRED)",
    "add_executable(use /dist/certify.cpp)",
    "target_link_libraries(use zeroloss::zeroloss)",
])  # fmt: skip
STEPS = [
    ("no compiler here", "! command -v cc && ! command -v c++ && ! command -v zeroloss"),
    ("apt install python3-venv", f"apt-get update -qq && {APT} python3-venv && python3 -m venv /wheel"),
    ("pip install zeroloss", "/wheel/bin/pip install -q /dist/*cp311*.whl"),
    ("zeroloss certify digits, of the wheel", f"/wheel/bin/{CERTIFY} --out /tmp/wheel"),
    ("zeroloss check, of the wheel", "/wheel/bin/zeroloss check /tmp/wheel"),
    ("import zeroloss", "/wheel/bin/python -c 'import zeroloss; print(zeroloss.certify(\"digits\").outcome)'"),
    ("its notices", "test -s /wheel/lib/python3.11/site-packages/zeroloss-*.dist-info/licenses/THIRD-PARTY.txt"),
    ("apt install zeroloss", f"{APT} /dist/zeroloss_*.deb"),
    ("zeroloss certify digits", f"{CERTIFY} --out /tmp/run"),
    ("zeroloss check", "zeroloss check /tmp/run"),
    ("the manual", "test -e /usr/share/man/man1/zeroloss.1"),
    ("the notices", "test -s /usr/share/doc/zeroloss/THIRD-PARTY.txt"),
    ("what needs zeroloss-torch says so", "if zeroloss conv train /dist 2>/tmp/said; then exit 1; fi\n"
                                          "grep zeroloss-torch /tmp/said"),
    ("apt install zeroloss-mpi", f"{APT} /dist/zeroloss-mpi_*.deb"),
    ("two processes", f"{AS_ROOT} mpirun --oversubscribe -n 2 {CERTIFY} --classes 3,8"),
    ("apt install zeroloss-torch", f"{APT} /dist/zeroloss-torch_*.deb"),
    ("zeroloss certify digits --device cpu", f"{CERTIFY} --classes 3,8 --device cpu"),
    ("still no compiler", "! command -v c++"),
    ("apt install libzeroloss-dev", f"{APT} /dist/libzeroloss-dev_*.deb cmake make g++"),
    ("find_package(zeroloss)", f"mkdir -p /tmp/use && cd /tmp/use && echo '{USE}' >CMakeLists.txt\n"
                               "cmake -S . -B build && cmake --build build && build/use"),
    ("apt purge", "apt-get purge -qq zeroloss zeroloss-mpi zeroloss-torch libzeroloss-dev\n"
                  "for left in /usr/bin/zeroloss* /usr/lib/*/libzeroloss* /usr/include/zeroloss; do\n"
                  "  if test -e \"$left\" || test -L \"$left\"; then echo \"$left is left\"; exit 1; fi\n"
                  "done"),
]  # fmt: skip
ANNAS, ANNAS_TEMPORARY = "/home/anna/mein netz/zeroloss", "/tmp/ein platz"
FROM_SOURCE = [
    ("no compiler here", "! command -v cc && ! command -v c++ && ! command -v cmake"),
    ("apt install git make", f"apt-get update -qq && {APT} git make iproute2"),
    ("packages", "cd /zeroloss && scripts/setup.sh core"),
    ("make demo", "cd /zeroloss && make demo"),
    ("packages of the tests", "cd /zeroloss && scripts/setup.sh full"),
    ("make test", "cd /zeroloss && make test"),
    ("make test, nothing changed", "cd /zeroloss && make test"),
    ("a copy of an ordinary user", "localedef -i de_DE -f UTF-8 de_DE.UTF-8; useradd --create-home anna\n"
                                   f"git clone -q /zeroloss '{ANNAS}'; cp -r /root/.cache /home/anna\n"
                                   f"mkdir '{ANNAS_TEMPORARY}'; chown -R anna: /home/anna '{ANNAS_TEMPORARY}'\n"
                                   f"su anna -c 'cd \"{ANNAS}\" && scripts/setup.sh full'"),
    ("make test, an ordinary user, a blank in its paths, German locale, no network, beside a busy process",
     "unshare --net sh -c \"ip link set lo up; (while :; do :; done) &\n"
     f"su anna -c 'cd \\\"{ANNAS}\\\" && TMPDIR=\\\"{ANNAS_TEMPORARY}\\\" LC_ALL=de_DE.UTF-8 make test'\""),
]  # fmt: skip


def make(root):
    """The chroot, new but for the packages that were downloaded before."""
    if root.exists():
        if any(root.iterdir()) and not any((root / ours).exists() for ours in ("dist", "zeroloss", "debootstrap")):
            sys.exit(f"bare: {root} is not what this made; name another folder")
        shutil.rmtree(root)
    cache = root.with_name(root.name + "-packages")
    cache.mkdir(parents=True, exist_ok=True)
    subprocess.run(["debootstrap", "--variant=minbase", "--include=ca-certificates", f"--cache-dir={cache}", "bookworm",
                    root, MIRROR], check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    # The network is this machine's. One that does not know its own name waits five seconds for it.
    for file in ("etc/hosts", "etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt"):
        shutil.copy(f"/{file}", root / file)


def inside(root, script):
    """Exit code and all it says. Terminals and /sys are part of a machine too."""
    script = ("export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8\n"
              "mount -t devpts -o ptmxmode=666 devpts /dev/pts\n"
              "mount -t sysfs sysfs /sys\n"
              f"mount -t tmpfs -o mode=1777 tmpfs /dev/shm\n{script}")  # fmt: skip
    done = subprocess.run(["unshare", "--fork", "--pid", f"--mount-proc={root}/proc", "chroot", root, "/bin/sh", "-euc",
                           script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
    return done.returncode, done.stdout


def used_seconds():
    """Of processors, by all that has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dist", type=Path, nargs="?")
    parser.add_argument("--work", type=Path, default=ROOT / "build/bare", help="[build/bare]")
    options = parser.parse_args()
    root, dist = options.work.resolve(), options.dist
    if dist:
        subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], check=True, cwd=dist)
    make(root)
    if dist:
        shutil.copytree(dist, root / "dist")
        shutil.copy(ROOT / "examples/certify.cpp", root / "dist")
    else:
        subprocess.run(["git", "clone", "--quiet", ROOT, root / "zeroloss"], check=True)
    for what, script in STEPS if dist else FROM_SOURCE:
        began, used = time.monotonic(), used_seconds()
        code, said = inside(root, script)
        print(f"{'FAIL' if code else 'ok  '} {what} ({time.monotonic() - began:.1f} s, "
              f"{used_seconds() - used:.1f} s of processors)", flush=True)  # fmt: skip
        if code:
            sys.exit(said)


if __name__ == "__main__":
    main()
