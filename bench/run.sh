#!/usr/bin/env bash
# bench/run.sh [DATA [N [OPTION...]]]: zeroloss and its peers on this machine in one run; see bench/README.md.
#   DATA  train-images-idx3-ubyte.gz of MNIST [the one that `zeroloss data get mnist` stores; else random points]
#   N     points [10000]
# Options are those of bench/run.py. Build folder: ${ZEROLOSS_BUILD:-build/release}.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${ZEROLOSS_BUILD:-build/release}

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DZEROLOSS_BUILD_TESTS=OFF -DZEROLOSS_BUILD_BENCH=ON >/dev/null
cmake --build "$build"
bench/setup.sh
exec "${PYTHON:-python3}" bench/run.py --bin "$build/bin" --env "${ZEROLOSS_BENCH_ENV:-build/bench-env}" "$@"
