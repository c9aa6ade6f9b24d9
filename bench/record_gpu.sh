#!/bin/sh
# Everything that docs/performance.md, docs/lab, tfhe.md and switching.md record of a GPU, with the C++ programs alone (no Python package):
#   LATTICINO_COMMIT=abc1234 bench/record_gpu.sh BUILD OUT
# BUILD: a build with -DLATTICINO_BENCH=ON. Kernel variants are tuned first, and everything after that
# runs with the new table (OUT/tuned.txt), which belongs into src/backend/tuned. Its parts before gates
# and switching take about five minutes on an H200, but for the tuning of TFHE sets, which was not timed;
# the rest, whose parts were timed alone, some five more.
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
for modes in minimal-keys=1 stc-first=1 over-raise=1 stc-first=1,over-raise=1 slots=256 \
  stc-first=1,over-raise=1,batch=8 stc-first=1,over-raise=1,message=real,slots=16384,batch=8 \
  arcsine=3,ratio=7 arcsine=3,ratio=7,message=constant stc-first=1,over-raise=1,message=constant; do
  # shellcheck disable=SC2046  # an option each
  step "$build/bench_bootstrap" --device=cuda --preset=n16-d40-boot-v1 --runs=10 --replay=1 $(printf -- '--%s ' $(echo "$modes" | tr , ' ')) \
    --tuning="$out/tuned.txt" --output="$out/bootstrap-$modes.json"
done
for modes in batch=1 batch=8 message=real,slots=16384 message=real,slots=16384,batch=8 message=merged,slots=16384,batch=2 \
  message=merged,slots=16384,batch=8; do
  # shellcheck disable=SC2046  # an option each
  step "$build/bench_bootstrap" --device=cuda --preset=n16-d40-boot-v2 --runs=10 --replay=1 --stc-first=1 --over-raise=1 \
    $(printf -- '--%s ' $(echo "$modes" | tr , ' ')) --tuning="$out/tuned.txt" --output="$out/bootstrap-v2-$modes.json"
done
step "$build/bench_operations" --tuning="$out/tuned.txt" --output="$out/operations.json"
step "$build/bench_records" --tuning="$out/tuned.txt" --output="$out/records.json"
for arithmetic in exact fft64; do
  sets=chameleon-500-legacy,chameleon-592-legacy,chameleon-630-legacy,tfhe-gates-v1,tfhe-gates-v2,tfhe-2-2-v1,tfhe-2-2-v2
  [ "$arithmetic" = exact ] || sets=$sets,chameleon-630-group3-legacy,tfhe-2-2-group3-fft64-v1,switch-n16-d40-fp64-v1
  step "$build/bench_gates" --device=cuda --mode=replayed --arithmetic="$arithmetic" --sets="$sets" \
    --batches=1,8,132,1056,4096 --runs=11 --output="$out/gates-$arithmetic.json"
done
for set in d40-fp64 d35-fp64 d40-precise; do
  slots=64,256,1024
  [ "$set" = d40-precise ] || slots=$slots,32768
  step "$build/bench_switch" --device=cuda --replay=1 --sets="switch-n16-$set-v1" --slots="$slots" \
    --output="$out/switch-$set.json"
done
step "$build/bench_transforms" --output="$out/transforms.json"
step "$build/bench_ablation" --output="$out/ablation.json"
step "$build/bench_pipelining" --output="$out/pipelining.json"
step "$build/bench_growth" --output="$out/growth.json"
step python3 "$here/counters.py" "$build" "$out/counters.json"
# 10^4 replays of one input and runs into poisoned buffers, compared bit for bit.
step "$build/bench_bootstrap" --device=cuda --runs=1 --replays="${REPLAYS:-10000}" --poison=1 --output="$out/replays.json"
exit $status
