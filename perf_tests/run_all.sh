#!/usr/bin/env bash
# Runs every program of perf_tests and prints all tables in order; the same as CSV, and one text file, into a folder.
#
# Usage: perf_tests/run_all.sh [--small] [--bin FOLDER] [--plots] RESULTS
#   RESULTS  folder for NAME.csv, NAME.txt, machine.txt and simp_protocols/ (a table per run); made where it is missing
#   --small  sizes for a processor (about two minutes on two cores) instead of a data-centre GPU (about five)
#   --bin    folder with the programs; default: the only build/*/bin that has them
#   --plots  also the pictures (perf_tests/plots.py, needs matplotlib)
#
# A program that fails or takes more than its time is named at the end (exit code 1) and does not stop the others; exit
# code 77 of a program means that it cannot run here (energy without a GPU).
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

usage() {
  sed -n 's/^# \?//; 4,8p' "${BASH_SOURCE[0]}" >&2
  echo "error: $1" >&2
  exit 2
}

small=0 plots=0 bin="" results=""
while [ $# -gt 0 ]; do
  case "$1" in
    --small) small=1 ;;
    --plots) plots=1 ;;
    --bin)
      [ $# -ge 2 ] || usage "--bin needs a folder"
      bin="$2"
      shift
      ;;
    -*) usage "option '$1' is unknown" ;;
    *)
      [ -z "$results" ] || usage "one folder for the results is enough: '$results', '$1'"
      results="$1"
      ;;
  esac
  shift
done
[ -n "$results" ] || usage "a folder for the results is needed"
if [ -z "$bin" ]; then
  found=()
  for folder in "$here"/../build/*/bin; do
    [ -x "$folder/brickwork-perf-elasticity-kernels" ] && found+=("$folder")
  done
  [ ${#found[@]} -gt 0 ] || usage "no build/*/bin holds brickwork-perf-elasticity-kernels; build first, or give --bin"
  [ ${#found[@]} -eq 1 ] || usage "several builds (${found[*]}); choose one with --bin"
  bin="${found[0]}"
fi
[ -x "$bin/brickwork-perf-elasticity-kernels" ] || usage "$bin holds no brickwork-perf-elasticity-kernels"
mkdir -p "$results"

# Without this Kokkos warns, and threads move between processors.
export OMP_PROC_BIND="${OMP_PROC_BIND:-spread}" OMP_PLACES="${OMP_PLACES:-threads}"

{
  date -u +'%Y-%m-%d %H:%M UTC'
  grep -m 1 'model name' /proc/cpuinfo || true
  nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,power.limit,memory.total --format=csv,noheader 2>/dev/null ||
    true
} >"$results/machine.txt"
cat "$results/machine.txt"

failed=()
begin=$SECONDS
# run NAME ARGUMENTS...; limit=SECONDS run ... where 240 s are too few
run() {
  local name="$1" start=$SECONDS code=0 seconds="${limit:-240}"
  shift
  echo
  echo "================ ${name//_/ } ================"
  timeout "$seconds" "$bin/brickwork-perf-${name//_/-}" --csv "$results/$name.csv" "$@" 2>"$results/$name.err" |
    tee "$results/$name.txt" || code=$?
  [ -s "$results/$name.err" ] || rm -f "$results/$name.err"
  case $code in
    0 | 77) ;;
    124) failed+=("$name: not done after $seconds s") ;;
    *) failed+=("$name: exit code $code, $(tail -n 1 "$results/$name.err" 2>/dev/null || true)") ;;
  esac
  echo "($((SECONDS - start)) s)"
}

if [ $small -eq 1 ]; then
  run roofline 32
  run synthetic_hot_path 16 64k
  run elasticity_kernels --masked 32
  run elasticity_forms 32
  run precision_study 20,10,5 --design-steps 5
  run condition_numbers 16,8,4 --design-steps 0
  run repeatability 16,8,4 --runs 3
  run energy 64k
  run hermite_operators
  run simp_protocols --small --output "$results/simp_protocols"
else
  run roofline 16.8M
  run synthetic_hot_path 64k 216k 512k 1M
  run elasticity_kernels --masked --one-set 64k 216k 512k 1M 16.8M 134M
  run elasticity_forms 1M 16.8M 134M
  run precision_study 64k 216k 1M --design-steps 120
  run condition_numbers 64k 216k 512k --design-steps 120
  run repeatability 64k 216k
  run energy 1M
  run hermite_operators --cells 4194304 --mesh 128
  limit=900 run simp_protocols --output "$results/simp_protocols"
fi

if [ $plots -eq 1 ]; then
  python3 "$here/plots.py" "$results" || failed+=("plots: exit code $?")
fi
echo
echo "all: $((SECONDS - begin)) s, results in $results"
if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
