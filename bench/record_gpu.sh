#!/bin/sh
# Everything that docs/performance.md records of a GPU, with the C++ programs alone (no Python package):
#   LATTICINO_COMMIT=abc1234 bench/record_gpu.sh BUILD OUT
# BUILD: a build with -DLATTICINO_BENCH=ON. Kernel variants are tuned first, and everything after that
# runs with the new table (OUT/tuned.txt), which belongs into src/backend/tuned. About five minutes on an H200,
# and the tuning of TFHE sets, which was not timed.
set -u
build=$1 out=$2 here=$(dirname "$0") status=0
mkdir -p "$out"

step() {
  echo "== $(date +%H:%M:%S) $*"
  "$@" || status=1
}

step "$build/bench_tune" --presets=n16-d40-boot-v1,n16-d35-boot-v1,n16-d30-boot-v1 --table="$out/tuned.txt" \
  >"$out/tune.log"
tail -2 "$out/tune.log"
for set in d40 d35 d30 d45 d50; do
  step "$build/bench_bootstrap" --device=cuda --preset="n16-$set-boot-v1" --runs=20 --replay=1 \
    --tuning="$out/tuned.txt" --output="$out/bootstrap-$set.json"
done
for mode in minimal-keys=1 stc-first=1 over-raise=1 slots=256; do
  step "$build/bench_bootstrap" --device=cuda --preset=n16-d40-boot-v1 --runs=10 --replay=1 "--$mode" \
    --tuning="$out/tuned.txt" --output="$out/bootstrap-${mode%=*}.json"
done
step "$build/bench_operations" --tuning="$out/tuned.txt" --output="$out/operations.json"
step "$build/bench_records" --tuning="$out/tuned.txt" --output="$out/records.json"
step "$build/bench_ablation" --output="$out/ablation.json"
step "$build/bench_growth" --output="$out/growth.json"
step python3 "$here/counters.py" "$build" "$out/counters.json"
# 10^4 replays of one input and runs into poisoned buffers, compared bit for bit.
step "$build/bench_bootstrap" --device=cuda --runs=1 --replays="${REPLAYS:-10000}" --poison=1 --output="$out/replays.json"
exit $status
