#!/usr/bin/env python3
"""release.py [--out FOLDER] [--python PYTHON].. [--twice] [--committed]: all that a release consists of, from the last
commit.

    zeroloss-VERSION-source.tar.gz   the whole tree
    zeroloss-VERSION.tar.gz          the sdist, for pip
    zeroloss-VERSION-*.whl           a wheel for every PYTHON [python3.10, 3.11 and 3.12, those that are here]
    *.deb                            zeroloss, libzeroloss-dev, zeroloss-torch, zeroloss-mpi, for this Debian
    zeroloss-VERSION.cdx.json        what is inside the wheels, as CycloneDX
    SHA256SUMS                       of all of them

in FOLDER [build/dist], which is made anew. Times are that of the commit, paths are not in the files: the same commit on
the same packages gives the same bytes. --twice shows it: it builds a second time, elsewhere, and ends with
status 1 if a byte differs. A tree with changes that are not committed is refused, unless it is said that they are to be
left out: --committed. tests/bare.py installs the files where there is no compiler."""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from notices import DEBIAN, HEADER, debian, noticed, owner

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("python3.10", "python3.11", "python3.12")


def run(*command, **options):
    print("+", *command, flush=True)
    subprocess.run([str(c) for c in command], check=True, **options)


def said(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout.strip()


def works(python):
    """Whether there is such a Python; a shim of pyenv is there without one."""
    return shutil.which(python) and subprocess.run([python, "-c", ""], stderr=subprocess.DEVNULL).returncode == 0


def sources(out, version, commit):
    tar = subprocess.run(["git", "archive", f"--prefix=zeroloss-{version}/", commit], check=True, cwd=ROOT,
                         stdout=subprocess.PIPE).stdout  # fmt: skip
    path = out / f"zeroloss-{version}-source.tar.gz"
    path.write_bytes(subprocess.run(["gzip", "-9n"], input=tar, check=True, stdout=subprocess.PIPE).stdout)
    return path


def packages(tree, out, environment):
    build, notices = tree / "build/deb", tree / "build/THIRD-PARTY.txt"
    notices.write_text(noticed(sorted(map(debian, {*DEBIAN, owner(HEADER)}))))
    run("cmake", "-S", tree, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_INSTALL_PREFIX=/usr",
        "-DZEROLOSS_BUILD_TESTS=OFF", f"-DZEROLOSS_NOTICES={notices}", env=environment)  # fmt: skip
    run("cmake", "--build", build, env=environment)
    run("cpack", cwd=build, env=environment)
    for package in sorted(build.glob("*.deb")):
        shutil.move(package, out)


def begin_anew(folder):
    """An empty FOLDER. One that holds something else than a release is left alone."""
    if folder.exists():
        names = {path.name for path in folder.iterdir()}
        if not all(re.fullmatch(r"SHA256SUMS|(lib)?zeroloss[-_].*", name) for name in names):
            sys.exit(f"release: {folder} holds more than a release; name another folder")
        shutil.rmtree(folder)
    folder.mkdir(parents=True)


def release(work, out, version, commit, pythons, environment):
    """All files in OUT, and their digests by name."""
    begin_anew(work)
    begin_anew(out)
    run("tar", "-xzf", sources(out, version, commit), "-C", work)
    tree = work / f"zeroloss-{version}"
    # All wheels and packages are of the same objects, each compiled once: the cache is this build's alone, the compiler
    # not one that a Python names.
    cache = {"CCACHE_DIR": f"{tree}/build/ccache", "CCACHE_BASEDIR": f"{tree}", "CCACHE_NOHASHDIR": "1"}
    environment = {"CXX": "c++", **environment, **cache, "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
                   "CXXFLAGS": f"-ffile-prefix-map={tree}=."}  # fmt: skip
    for python in pythons:
        run(tree / "scripts/wheel.sh", out, env={**environment, "PYTHON": python})
    tools = min(tree.glob("build/wheel-*/tools/bin/python"))
    run(tools, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "build==1.3.0")
    run(tools, "-m", "build", "--sdist", "--no-isolation", "--outdir", out, tree, env=environment)
    packages(tree, out, environment)
    wheel = min(out.glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("sboms/zeroloss.cdx.json"))
        (out / f"zeroloss-{version}.cdx.json").write_bytes(archive.read(name))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(out.iterdir())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build/dist", help="[build/dist]")
    parser.add_argument("--python", action="append", help="may be given again [python3.10, python3.11, python3.12]")
    parser.add_argument("--twice", action="store_true", help="build again and compare")
    parser.add_argument("--committed", action="store_true", help="leave out what is not committed")
    options = parser.parse_args()
    if not options.committed and said("git", "status", "--porcelain"):
        sys.exit("release: the tree has changes that are not committed; --committed makes a release without them")
    version = re.search(r"project\(zeroloss VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    pythons = options.python or [python for python in PYTHONS if works(python)]
    if not pythons:
        sys.exit(f"release: none of {', '.join(PYTHONS)} is here")
    commit, time = said("git", "log", "-1", "--format=%H %ct").split()  # whatever is committed meanwhile
    environment = {**os.environ, "SOURCE_DATE_EPOCH": time}
    out = options.out.resolve()
    sums = release(ROOT / "build/release-tree", out, version, commit, pythons, environment)
    if options.twice:
        again = release(ROOT / "build/release-again", ROOT / "build/dist-again", version, commit, pythons, environment)
        different = [name for name in sums.keys() | again.keys() if sums.get(name) != again.get(name)]
        if different:
            sys.exit(f"release: not the same bytes again: {', '.join(sorted(different))}")
        print(f"release: {len(sums)} files, the same bytes twice")
    (out / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))
    print((out / "SHA256SUMS").read_text(), end="")


if __name__ == "__main__":
    main()
