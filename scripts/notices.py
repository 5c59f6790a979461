#!/usr/bin/env python3
"""notices.py RAW WHEEL: completes WHEEL, which auditwheel made of the wheel RAW, so that it may be passed on.

Puts into its .dist-info the notices of all that is inside, libraries beside the extension and headers compiled into it
(licenses/THIRD-PARTY.txt), and the CycloneDX list of these parts (sboms/zeroloss.cdx.json, in the place of
auditwheel's, which knows nothing of headers and PyPI). Knows Debian's packages, and those in its own Python's
environment. Prints the wheel's parts."""

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

#: Compiled in: headers and static libraries. Those of PyPI from the environment of this Python.
DEBIAN = ["libcli11-dev", "libcsv-dev", "libeigen3-dev", "libfmt-dev", "libhwy-dev", "libonnx-dev",
          "librandom123-dev", "nlohmann-json3-dev"]  # fmt: skip
HEADER = Path("/usr/include/boost/version.hpp")  # its package has the version in its name
PYPI = ["nanobind"]
BLAS = "scipy-openblas32"


def said(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def loaded(raw):
    """What the extension and the checker of the wheel RAW load here: paths by the names of the files."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(raw) as archive:
        names = [n for n in archive.namelist() if re.fullmatch(r"zeroloss/(_core\..*\.so|zeroloss-check)", n)]
        lines = [line for name in names for line in said("ldd", archive.extract(name, folder)).splitlines()]
    found = (re.fullmatch(r"\s*\S+ => (/\S+) \(.*\)", line) for line in lines)
    return {path.name: path for path in (Path(match[1]).resolve() for match in found if match)}


def owner(path):
    """The Debian package of a file. The list of a package may say /lib where the file is in /usr/lib."""
    for known in (str(path), str(path).removeprefix("/usr")):
        done = subprocess.run(["dpkg", "-S", known], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    sys.exit(f"notices: no package has {path}, which the wheel carries")


def debian(package):
    """Its name, version, purl and notice. A package of names alone is the one that it depends on."""
    notice = Path("/usr/share/doc") / package / "copyright"
    if not notice.exists():
        sys.exit(f"notices: {package} is not installed, or without {notice}")
    version, architecture = said("dpkg-query", "-W", "-f=${Version} ${Architecture}", package).split()
    purl = f"pkg:deb/debian/{package}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}"
    return package, version, purl, notice.read_text(errors="replace")


def pypi(name):
    part = importlib.metadata.distribution(name)
    named = re.compile(r"(^|/)(licen[cs]e|copying|notice)[^/]*$", re.IGNORECASE)
    notices = [Path(part.locate_file(f)).read_text(errors="replace") for f in part.files if named.search(str(f))]
    # nanobind compiles in a container of others, whose licence is the head of its file.
    notices += [Path(part.locate_file(f)).read_text().split("*/")[0] for f in part.files if f.name == "robin_map.h"]
    if not notices:
        sys.exit(f"notices: {name} comes without a licence")
    return name, part.version, f"pkg:pypi/{name}@{part.version}", "\n\n".join(notices)


def parts_of(raw, wheel):
    """All parts, sorted by name."""
    with zipfile.ZipFile(wheel) as archive:
        carried = [Path(n).name for n in archive.namelist() if n.startswith("zeroloss.libs/") and ".so" in n]
    paths, packages, others = loaded(raw), {*DEBIAN, owner(HEADER)}, set(PYPI)
    blas = Path(importlib.metadata.distribution(BLAS).locate_file("")).resolve()
    for name in carried:
        path = paths.get(re.sub(r"-[0-9a-f]{8}(?=\.)", "", name, count=1))  # auditwheel's digest
        if path is None:
            sys.exit(f"notices: {name} is in the wheel, but nothing in it loads it")
        if path.is_relative_to(blas):
            others.add(BLAS)
        else:
            packages.add(owner(path))
    return sorted([*map(debian, packages), *map(pypi, others)])


def listed(wheel, parts):
    """CycloneDX 1.6."""
    name, version = wheel.name.split("-")[:2]
    whole = f"pkg:pypi/{name}@{version}"
    components = [{"type": "library", "bom-ref": purl, "name": part, "version": number, "purl": purl}
                  for part, number, purl, _ in parts]  # fmt: skip
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
            "metadata": {"component": {"type": "library", "bom-ref": whole, "name": name, "version": version,
                                       "purl": whole, "licenses": [{"license": {"id": "BSD-3-Clause"}}]}},
            "components": components,
            "dependencies": [{"ref": whole, "dependsOn": [c["bom-ref"] for c in components]}]}  # fmt: skip


def noticed(parts):
    """One text: notices that several parts share stand there once."""
    head = "This package carries or was compiled with the following, each under its own licence.\n"
    texts = {}
    for name, version, _, notice in parts:
        texts.setdefault(notice, []).append(f"{name} {version}")
    return head + "".join(f"\n{'=' * 80}\n{', '.join(names)}\n{'=' * 80}\n\n{text.strip()}\n"
                          for text, names in texts.items())  # fmt: skip


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    raw, wheel = map(Path, sys.argv[1:])
    parts = parts_of(raw, wheel)
    with tempfile.TemporaryDirectory() as folder:
        said(sys.executable, "-m", "wheel", "unpack", "--dest", folder, str(wheel))
        (tree,) = Path(folder).iterdir()
        (info,) = tree.glob("*.dist-info")
        for old in (info / "sboms").glob("*"):
            old.unlink()
        for where, text in (("sboms/zeroloss.cdx.json", json.dumps(listed(wheel, parts), indent=1) + "\n"),
                            ("licenses/THIRD-PARTY.txt", noticed(parts))):  # fmt: skip
            (info / where).parent.mkdir(exist_ok=True)
            (info / where).write_text(text)
        said(sys.executable, "-m", "wheel", "pack", "--dest-dir", folder, str(tree))
        shutil.move(Path(folder) / wheel.name, wheel)
    for name, version, _, _ in parts:
        print(f"{name} {version}")


if __name__ == "__main__":
    main()
