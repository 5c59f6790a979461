#!/usr/bin/env bash
# Installs what is missing on Debian and its relatives; elsewhere prints the names.
#   scripts/setup.sh core    what the library and the command need
#   scripts/setup.sh conv    core, and LibTorch for `zeroloss conv`
#   scripts/setup.sh mpi     core, and MPI with ScaLAPACK for several processes
#   scripts/setup.sh full    conv, mpi, and what the tests need (the formatter too), with a Python environment in build/python
#   scripts/setup.sh bench   core, and what the peers of the benchmarks need
#   scripts/setup.sh docs    core, a browser, and what the documentation site is built with, in build/docs/python
#   scripts/setup.sh lint    full, and the linter and valgrind
#   scripts/setup.sh fuzz    core, and clang with libFuzzer and its sanitizers
#   scripts/setup.sh release conv, mpi, and what makes packages and tries them in a bare Debian
set -euo pipefail

core=(g++ cmake ninja-build pkg-config libeigen3-dev libopenblas-pthread-dev libhwy-dev librandom123-dev libcli11-dev
  libfmt-dev nlohmann-json3-dev libcsv-dev libzip-dev libarchive-dev zlib1g-dev libcurl4-openssl-dev libssl-dev
  libboost-dev libsqlite3-dev libjpeg62-turbo-dev libpng-dev libonnx-dev libprotobuf-dev protobuf-compiler
  ca-certificates python3-dev python3-venv)
# Of zeroloss-check: Arb, which FLINT has in it from version 3 on.
if grep -qsE '^VERSION_CODENAME=(bullseye|bookworm|focal|jammy)' /etc/os-release; then
  core+=(libflint-arb-dev)
else
  core+=(libflint-dev)
fi
conv=("${core[@]}" libtorch-dev libgloo-dev)
mpi=("${core[@]}" libopenmpi-dev openmpi-bin libscalapack-openmpi-dev)
full=("${conv[@]}" libopenmpi-dev openmpi-bin libscalapack-openmpi-dev libgtest-dev ccache chromium clang-format-14
  groff-base iproute2 locales strace webp zsh)
bench=("${core[@]}")
docs=("${core[@]}" chromium)
lint=("${full[@]}" clang-tidy-16 libomp-16-dev valgrind)
fuzz=("${core[@]}" libgtest-dev clang-16 libclang-rt-16-dev libomp-16-dev)
release=("${conv[@]}" libopenmpi-dev openmpi-bin libscalapack-openmpi-dev ccache dpkg-dev file debootstrap)

case "${1:-}" in
  core) packages=("${core[@]}") ;;
  conv) packages=("${conv[@]}") ;;
  mpi) packages=("${mpi[@]}") ;;
  full) packages=("${full[@]}") ;;
  bench) packages=("${bench[@]}") ;;
  docs) packages=("${docs[@]}") ;;
  lint) packages=("${lint[@]}") ;;
  fuzz) packages=("${fuzz[@]}") ;;
  release) packages=("${release[@]}") ;;
  *) echo "usage: scripts/setup.sh core|conv|mpi|full|bench|docs|lint|fuzz|release" >&2; exit 2 ;;
esac

if ! command -v apt-get >/dev/null; then
  echo "setup: no apt-get here. Install the equivalents of these Debian packages:" >&2
  printf '  %s\n' "${packages[@]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}\n' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "setup: installing ${missing[*]}"
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then as_root=(sudo); fi
  export DEBIAN_FRONTEND=noninteractive
  install=("${as_root[@]}" apt-get install -y --no-install-recommends -qq "${missing[@]}")
  "${install[@]}" >/dev/null 2>&1 || { "${as_root[@]}" apt-get update -qq && "${install[@]}" >/dev/null; }
fi

# Debian's own Python first: one that shadows it in PATH need not have venv.
cd "$(dirname "$0")/.."
case "$1" in
  full | lint) env=build/python requirements=tests/requirements.txt ;;
  docs) env=build/docs/python requirements=docs/requirements.txt ;;
  *) exit 0 ;;
esac
if cmp -s "$requirements" "$env/requirements.txt"; then exit 0; fi
echo "setup: Python packages in $env"
python=/usr/bin/python3
"$python" -c 'import ensurepip, venv' 2>/dev/null || python=python3
rm -rf "$env"
"$python" -m venv "$env"
"$env/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
cp "$requirements" "$env/requirements.txt"  # last: says that the environment is complete
