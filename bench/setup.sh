#!/usr/bin/env bash
# bench/setup.sh [PEER..]: virtual environments of the peers, in ${ZEROLOSS_BENCH_ENV:-build/bench-env}.
#   PEER  numpy (with scipy), neural-tangents, jax, torch (5 GB: PyPI's brings CUDA's libraries) [numpy neural-tangents]
# ${PYTHON:-python3} has to be 3.11 or 3.12: the newest neural-tangents, 0.6.5, needs a jax of mid-2024.
set -euo pipefail
cd "$(dirname "$0")/.."
env=${ZEROLOSS_BENCH_ENV:-build/bench-env}

new() { rm -rf "${env:?}/$1" && "${PYTHON:-python3}" -m venv "$env/$1"; }
install() { "$env/$1/bin/pip" install --quiet --disable-pip-version-check "${@:2}"; }
peers=" ${*:-numpy neural-tangents} "
for peer in $peers; do
  [[ " numpy neural-tangents jax torch " == *" $peer "* ]] || { echo "setup: no peer is called $peer" >&2; exit 2; }
done
missing() {  # a name, if that peer is wanted and its environment was not completed with this file as it is now
  [[ $peers == *" $1 "* ]] || return 1
  [ "$env/$1/complete" -nt bench/setup.sh ] && return 1
  echo "setup: $1 in $env"
}

if missing numpy; then
  new numpy
  install numpy numpy==2.4.6 scipy==1.17.1 threadpoolctl==3.6.0
  touch "$env/numpy/complete"
fi

if missing neural-tangents; then
  new neural-tangents
  install neural-tangents jax==0.4.30 jaxlib==0.4.30 ml_dtypes==0.4.0 numpy==1.26.4 scipy==1.13.1 opt_einsum==3.4.0 \
    frozendict==2.4.6 typing_extensions==4.12.2
  # Alone: it asks for tensorflow, which only its experimental part uses (see peers.py).
  install neural-tangents --no-deps neural-tangents==0.6.5
  touch "$env/neural-tangents/complete"
fi

if missing jax; then  # the newest, which neural-tangents does not run on
  new jax
  install jax "jax[cpu]==0.10.2" jaxlib==0.10.2 ml_dtypes==0.6.0 numpy==2.4.6 scipy==1.17.1 opt_einsum==3.4.0
  touch "$env/jax/complete"
fi

if missing torch; then
  new torch
  install torch torch==2.15.0 numpy==2.4.6
  touch "$env/torch/complete"
fi
