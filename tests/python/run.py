#!/usr/bin/env python3
"""Tests the Python package as a user gets it: `package` makes the sdist, builds the wheel from it (and from nothing
else), checks what is in it and installs it into a fresh environment; `tests` runs pytest there, `adversary`
the adversary's, and `hostile` the adversary itself on more cases.

The library is compiled as in the release build, flag by flag, so that with a compiler cache only the bindings are
compiled anew. A wheel is not built again while its sdist and what builds it are those of the last time."""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

#: As -X dev -W error do, and for the interpreters that tests start too: a file left open, a deprecated call or any
#: other warning is an error. One is about the machine and not about the code: a processor newer than its OpenBLAS.
STRICT = {"PYTHONDEVMODE": "1", "PYTHONWARNINGS": "error,ignore:OpenBLAS runs its:RuntimeWarning"}


def run(*command, **options):
    print("+", *map(str, command), flush=True)
    subprocess.run([str(c) for c in command], check=True, **options)


def make_sdist(source, work):
    """The unpacked sdist, and a digest of its contents."""
    shutil.rmtree(work / "sdist", ignore_errors=True)
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", work / "sdist", source,
        stdout=subprocess.DEVNULL)  # fmt: skip
    (archive,) = (work / "sdist").glob("zeroloss-*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(work / "sdist")
    tree = archive.with_name(archive.name.removesuffix(".tar.gz"))
    digest = hashlib.sha256()
    for file in sorted(p for p in tree.rglob("*") if p.is_file()):
        digest.update(f"{file.relative_to(tree)}\0".encode() + file.read_bytes() + b"\0")
    return tree, digest.hexdigest()


def tools(source, compiler, launcher):
    """What builds the wheel: the compiler, which may become another one under its name, and the Python packages."""
    version = subprocess.run([compiler, "--version"], check=True, capture_output=True, text=True).stdout
    requirements = (source / "tests" / "requirements.txt").read_text()
    return hashlib.sha256("\0".join([compiler, version, launcher, sys.version, requirements]).encode()).hexdigest()


def build_wheel(tree, work, compiler, launcher):
    """Two levels below the tree, as the release build is: then a compiler cache sees the same paths."""
    environment = {**os.environ, "CXX": compiler, "CMAKE_CXX_COMPILER_LAUNCHER": launcher}
    shutil.rmtree(work / "dist", ignore_errors=True)
    run(sys.executable, "-m", "pip", "wheel", tree, "--no-build-isolation", "--no-deps", "--quiet",
        "--disable-pip-version-check", "--wheel-dir", work / "dist", "--config-settings=build-dir=build/release",
        env=environment)  # fmt: skip


def check_contents(wheel, source):
    """All of python/zeroloss, the extension with its stub, MPI, the checker, and nothing else but the metadata."""
    root = source / "python"
    files = (p.relative_to(root)
             for p in (root / "zeroloss").rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    expected = {"zeroloss/_core.pyi", "zeroloss/libzeroloss_mpi.so", "zeroloss/zeroloss-check", *map(str, files)}
    found = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    (extension,) = (name for name in found if name.startswith("zeroloss/_core.") and name.endswith(".so"))
    if found != expected | {extension}:
        sys.exit(f"the wheel lacks {expected - found} and has {found - expected - {extension}} too much")


def make_environment(wheel, work):
    """Fresh but for what the tests need beside the package, which it sees through a path."""
    shutil.rmtree(work / "venv", ignore_errors=True)
    run(sys.executable, "-m", "venv", work / "venv")
    python = work / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", wheel)
    (site,) = (work / "venv").glob("lib/python*/site-packages")
    ours = Path(sys.prefix) / site.relative_to(work / "venv")
    (site / "tests.pth").write_text(f"{ours}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["package", "tests", "adversary", "hostile"])
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--launcher", default="")
    parser.add_argument("--part", metavar="K/N", default="1/1", help="of the files of tests, every N-th from the K-th")
    parser.epilog = "Further arguments are those of pytest, or of adversary.py."
    options, further = parser.parse_known_args()
    source, work = options.source.resolve(), options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    if options.what == "package":
        make_package(source, work, options.compiler, options.launcher)
        return
    python = work / "venv" / "bin" / "python"
    if options.what == "hostile":
        run(python, source / "tests" / "adversary" / "adversary.py", *further, cwd=work)
        return
    part, parts = map(int, options.part.split("/"))
    folder = source / "tests" / ("python" if options.what == "tests" else "adversary")
    files = sorted(folder.glob("*_test.py"), key=lambda file: (-file.stat().st_size, file.name))[part - 1 :: parts]
    strict = STRICT if options.what == "tests" else {}
    run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider",
        "-c", source / "pyproject.toml", *files, *further, cwd=work,
        env={**os.environ, **strict})  # fmt: skip


def make_package(source, work, compiler, launcher):
    tree, digest = make_sdist(source, work)
    digest += " " + tools(source, compiler, launcher)
    built = work / "built"
    if not (built.exists() and built.read_text() == digest):
        built.unlink(missing_ok=True)
        build_wheel(tree, work, compiler, launcher)
        built.write_text(digest)
    (wheel,) = (work / "dist").glob("zeroloss-*.whl")
    check_contents(wheel, source)
    make_environment(wheel, work)


if __name__ == "__main__":
    main()
