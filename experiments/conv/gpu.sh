#!/usr/bin/env bash
# experiments/conv/gpu.sh HEADERS CIFAR [STAGE..]: build and measure on a machine with a GPU that has PyTorch (for its LibTorch), the
# CUDA toolkit, CMake and a compiler, and no network. Every stage may be repeated; training that is cut off goes on where it was.
#   HEADERS  folder with Eigen/, fmt/, nlohmann/, CLI/ and Random123/ in it (Debian's /usr/include/eigen3/Eigen, /usr/include/fmt, ..)
#   CIFAR    cifar-10-binary.tar.gz, or the folder that it unpacks to
#   STAGE    build paper modern ablation bench; [build paper modern bench]
# PYTHON [python3]: one that imports torch. MINUTES: the time of each piece of training [no limit]. BENCH: further options of
# bench/conv.py, such as "--way eager --rounds 3" where ten minutes are all there is. BUILD [build/gpu], OUT [runs/gpu].
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,8s/^# \?//p' "$0" >&2; exit 2; }
headers=$(realpath "$1") cifar=$(realpath "$2")
cd "$(dirname "$0")/../.."
shift 2
stages=("$@")
[ $# -gt 0 ] || stages=(build paper modern bench)
python=${PYTHON:-python3} build=${BUILD:-build/gpu} out=${OUT:-runs/gpu}
pieces=()
[ -z "${MINUTES:-}" ] || pieces=(--minutes "$MINUTES")

if [ -f "$cifar" ]; then
  mkdir -p "$out"
  [ -d "$out/cifar-10-batches-bin" ] || tar -xzf "$cifar" -C "$out"
  cifar=$out/cifar-10-batches-bin
fi

build() {
  local torch
  torch=$("$python" -c 'import torch; print(torch.__path__[0])')
  cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DZEROLOSS_TORCH_ONLY=ON -DZEROLOSS_BUILD_TESTS=OFF -DZEROLOSS_BUILD_BENCH=ON \
    -DZEROLOSS_TORCH="$torch" -DCMAKE_INCLUDE_PATH="$headers"
  cmake --build "$build" --parallel
}

bench() {
  # bench/conv.py asks the Python of an environment.
  mkdir -p "$build/env/torch/bin"
  printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v "$python")" >"$build/env/torch/bin/python"
  chmod +x "$build/env/torch/bin/python"
  "$python" bench/conv.py --bin "$build/bin" --env "$build/env" --device cuda --results "$out" ${BENCH:-}
}

train() { "$python" "experiments/conv/$1.py" "$build/bin/zeroloss-torch" "$cifar" --device cuda --out "$out" "${pieces[@]}" "${@:2}"; }
paper() { train run --recipe paper; }
modern() { train run --recipe modern; }
ablation() { train ablation; }

for stage in "${stages[@]}"; do
  case $stage in
    build | bench | paper | modern | ablation) echo "gpu: $stage"; $stage ;;
    *) echo "gpu: no stage is called $stage" >&2; exit 2 ;;
  esac
done
