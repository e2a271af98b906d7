#!/usr/bin/env bash
# Checks Tapeformer on a GPU, without compiling anything: gpu_stages.sh [OUT], called by scripts/gpu_check.sh and, as check.sh,
# in the bundle that it makes. Takes at most seven minutes. Writes the results to files in OUT (default: gpu_check).
#
# The programs are $TAPEFORMER and $TEST_CUDA, by default those beside this script. ONLY="costs bench" runs some stages.
# benchmarks/compare.py --device cuda measures more, next to PyTorch.
#
# The last line is "N passed, N failed"; exit code 77 if there is no GPU. Then a part of the tests runs on the emulated device,
# which shows that the programs work.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tapeformer=$(realpath "${TAPEFORMER:-$here/tapeformer}")
test_cuda=$(realpath "${TEST_CUDA:-$here/test_cuda}")
out=${1:-gpu_check}
mkdir -p "$out"
out=$(realpath "$out")
rm -f "$out"/*.log "$out"/*.status
cd "$out"

# The bundle has no fixtures to read and writes nothing outside of OUT.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$(nproc)}

# check NAME SECONDS COMMAND...: runs it, for SECONDS or until the end of the stage, writes its output to NAME.log and its exit
# status to NAME.status.
check() {
  local name=$1 limit=$2 status=0 start=$SECONDS left
  left=$((deadline - $(date +%s)))
  [ "$limit" -le "$left" ] || limit=$left
  if [ "$limit" -gt 0 ]; then
    timeout -k 2 "$limit" "${@:3}" > "$name.log" 2>&1 || status=$?
  else
    status=124
    printf 'no time was left in this stage\n' > "$name.log"
  fi
  printf '%s\n' "$status" > "$name.status"
  case $status in
    0) printf '  passed   %-34s %4d s\n' "$name" "$((SECONDS - start))" ;;
    77) printf '  skipped  %-34s %s\n' "$name" "$(tail -n 1 "$name.log")" ;;
    *)
      [ "$status" -ne 124 ] || [ "$limit" -le 0 ] || printf 'not done within %d seconds\n' "$limit" >> "$name.log"
      printf '  FAILED   %-34s %4d s, exit status %d, the end of %s:\n' "$name" "$((SECONDS - start))" "$status" "$out/$name.log"
      tail -n 15 "$name.log" | cut -c1-300 | sed 's/^/    /'
      ;;
  esac
}

# stage NAME SECONDS: calls the function NAME with this limit, unless ONLY leaves it out.
stage() {
  case " ${ONLY:-$1} " in *" $1 "*) ;; *) return ;; esac
  printf '%s (at most %d seconds)\n' "$1" "$2"
  export deadline=$(($(date +%s) + $2))
  "$1"
}

# tests FILTER: the tests of test_cuda that it matches, on the GPU; fails if none ran.
tests() {
  TAPE_TEST_DEVICE=cuda "$test_cuda" --gtest_brief=1 "--gtest_filter=$1" > "tests.$$.$BASHPID.text" 2>&1
  local status=$?
  cat "tests.$$.$BASHPID.text"
  if grep -qE '^\[==========\] 0 tests' "tests.$$.$BASHPID.text"; then
    printf 'no test matches %s\n' "$1"
    status=1
  fi
  rm -f "tests.$$.$BASHPID.text"
  return "$status"
}
export -f tests check
export test_cuda tapeformer out

# Without cuBLASLt, products run on the library's own kernels, so that its part would be neither checked nor timed. Where
# the system has none, it is often among the packages of a Python environment.
find_cublaslt() {
  local packages folder
  [ -n "$(field cublaslt_missing < info.log)" ] || return 0
  packages=$("${PYTHON:-python3}" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' 2> /dev/null) || return 0
  for folder in "$packages"/nvidia/cu13/lib "$packages"/nvidia/cublas/lib; do
    ls "$folder"/libcublasLt.so.* > /dev/null 2>&1 || continue
    export LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    return
  done
}

# (a) The driver, cuBLASLt, and every kernel with the sizes of its parameters.
load() {
  check info 15 "$tapeformer" info
  check cublaslt 15 bash -c '"$tapeformer" info --json | grep -qE "\"cublaslt_missing\": *\"\"" || { "$tapeformer" info; exit 1; }'
  sed 's/^/    /' info.log
  check every_kernel 30 bash -c 'tests "CudaKernelTable.*"'
}

# (b) Kernels, tensors and modules beside the CPU. Each suite in a process of its own: a kernel that fails ends the use of the
# device in its process.
kernels() {
  "$test_cuda" --gtest_list_tests | grep -E '^[A-Z]' | sed -E 's#^[A-Za-z]+/(Cuda)#\1#; s/[/.].*//' | sort -u |
    grep -E '^(Cuda|LateChecks|ProductsInGraphs|StepGraphs|StepLists|StepsAsGraphs)' |
    grep -vE '^Cuda(KernelTable|Operations|Training|Costs|Driver|Memory|Signatures|Kernels)$' > suites.txt
  xargs -P 4 -I{} bash -c 'check {} 30 bash -c "tests \"{}.*:{}/*:*/{}.*\""' < suites.txt
}

# (c) Every registered operation in f64: values and gradients beside the CPU, gradients and second derivatives by differences.
operations() {
  printf '%s\n' GiveTheValuesAndGradientsOfTheCpu HaveRightGradients HaveRightSecondDerivatives |
    xargs -P 3 -I{} bash -c 'check operations.{} 75 bash -c "tests CudaOperations.{}"'
}

# (d) 16 steps of a GPT and of an encoder-decoder beside the CPU, also as graphs.
training() {
  check training 35 bash -c 'tests "CudaTraining.*"'
}

# (e) compute-sanitizer over two training steps, with each tensor an allocation of its own.
sanitizer() {
  local tool program
  program=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2> /dev/null || true)
  if [ -z "$program" ]; then
    printf '  skipped  compute-sanitizer is not installed\n'
    return
  fi
  # The device of the tools cannot be shared: one after the other.
  for tool in memcheck racecheck initcheck; do
    check "sanitizer.$tool" 25 env TAPE_CUDA_NO_MEMORY_CACHING=1 "$program" --tool "$tool" --error-exitcode 9 \
      "$tapeformer" bench train-step --config gpt-nano --steps 1 --warmup 1 --device cuda
  done
}

# (f) Launches and copies.
costs() {
  check costs 15 bash -c 'tests "CudaCosts.*"'
  grep -E ' (us|GB/s)$' costs.log | sed 's/^/    /'
}

# field NAME: its value in each JSON line of the input.
field() { grep -oE "\"$1\": *(\"[^\"]*\"|[0-9.]+)" | sed -E 's/^[^:]*: *//; s/"//g' | tail -n 1; }
# A table row for each JSON line of the input.
rows() {
  local line
  grep -E '^\{' | while IFS= read -r line; do
    printf '    %-10s %-12s %10s ms %12s tokens/s\n' "$(field cfg <<<"$line")" "$(field precision <<<"$line")" \
      "$(field '(ms|ms_token)' <<<"$line")" "$(field tok_s <<<"$line")"
  done
}

# (g) Speed, not compared with a bound.
bench() {
  local config precision graphs
  export TAPE_CUDA_GRAPHS
  for graphs in 0 1; do
    TAPE_CUDA_GRAPHS=$graphs
    printf '    TAPE_CUDA_GRAPHS=%s\n' "$graphs"
    check "bench.decode.$graphs" 12 "$tapeformer" bench decode --config gpt-124m --batch 1 --precision medium --json --device cuda
    rows < "bench.decode.$graphs.log"
    for config in gpt-nano gpt-char base gpt-124m; do
      for precision in high medium; do
        check "bench.$config.$precision.$graphs" 12 "$tapeformer" bench train-step --config "$config" --precision "$precision" \
          --steps 5 --json --device cuda
        rows < "bench.$config.$precision.$graphs.log"
      done
    done
  done
  unset TAPE_CUDA_GRAPHS
}

# Without a GPU: a part of the tests on the emulated device.
emulated() {
  check emulated 60 "$test_cuda" --gtest_brief=1 '--gtest_filter=CudaKernelTable.*:CudaTensors.*:CudaNorm/0.*:CudaBlas.*'
  check cpu_step 20 "$tapeformer" bench train-step --config gpt-nano --steps 1 --json
}

summary() {
  local status passed=0 failed=0
  shopt -s nullglob
  for status in *.status; do
    case $(cat "$status") in 0) passed=$((passed + 1)) ;; 77) ;; *) failed=$((failed + 1)) ;; esac
  done
  printf '%d passed, %d failed\n' "$passed" "$failed"
  [ "$passed" -gt 0 ] && [ "$failed" -eq 0 ]
}

if ! "$tapeformer" info --json > info.log 2>&1; then
  printf 'load\n  FAILED   %s info:\n' "$tapeformer"
  cat info.log
  printf '0 passed, 1 failed\n'
  exit 1
fi
missing=$(field cuda_missing < info.log)
if [ -n "$missing" ]; then
  printf 'load: %s\nkernels, operations, training, sanitizer, costs, bench: skipped, since they need a GPU\n' "$missing"
  stage emulated 80
  summary || exit 1
  exit 77
fi
find_cublaslt
# Seven minutes together.
stage load 20
stage kernels 90
stage operations 75
stage training 35
stage sanitizer 65
stage costs 15
stage bench 90
summary
