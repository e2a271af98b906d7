#!/usr/bin/env bash
# Compiles every CUDA kernel for GPUs, as builds with TAPEFORMER_CUDA=ON do, and checks what ptxas reports. Warnings fail, and
# so do memory of each thread, for spilled registers and for arrays or parameters that are indexed by a variable, and more
# registers than a block can have.
# `scripts/cuda.sh` compiles for sm_90 and to PTX, with --release for sm_80 too.
#
# Prints registers, shared memory, stack and spills of each kernel; the last line is "N passed, N failed", counting kernels and
# sources that do not compile. Exit code 77 if there is no nvcc. Needs no GPU.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Kernels whose threads may have memory of their own (stack), one per line: KERNEL BYTES REASON.
allowed_stacks='
unary_cos_f32 32 reduction of large arguments
unary_cos_bf16 32 reduction of large arguments
unary_cos_f64 40 reduction of large arguments
unary_sin_f32 32 reduction of large arguments
unary_sin_bf16 32 reduction of large arguments
unary_sin_f64 40 reduction of large arguments
unary_tan_f32 32 reduction of large arguments
unary_tan_bf16 32 reduction of large arguments
unary_tan_f64 40 reduction of large arguments
stack_overflow 1048576 what it tests'

# Kernels that are launched in blocks of more than 256 threads, one per line: KERNEL THREADS. The 65,536 registers of a
# multiprocessor suffice for 256 threads of any kernel.
large_blocks='
mean_scale_f32 1024
mean_scale_f64 1024
check_index 1024
check_flags 1024
choose_tokens_f32 512
choose_tokens_f64 512'

architectures=(90)
case "${1:-}" in
  '') ;;
  --release) architectures+=(80) ;;
  *)
    printf 'cuda: usage: scripts/cuda.sh [--release]\n' >&2
    exit 2
    ;;
esac

. scripts/nvcc.sh
nvcc=$(find_nvcc) || exit 77

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Users' kernels include <tapeformer/...>.
mkdir "$work/include"
ln -s "$PWD" "$work/include/tapeformer"

flags=(-fatbin -std=c++20 -O3 -lineinfo --expt-relaxed-constexpr -Xptxas -v -I. "-I$work/include")
for architecture in "${architectures[@]}"; do
  flags+=(-gencode "arch=compute_$architecture,code=[sm_$architecture,compute_$architecture]")
done
# compile SOURCE: leaves NAME.log, with "error" in its first line if nvcc fails.
compile() {
  local name=${1//\//_}
  if ! "$nvcc" "${flags[@]}" -o "$work/$name.fatbin" "$1" > "$work/$name.text" 2>&1; then
    printf 'error: %s does not compile\n' "$1" > "$work/$name.log"
  fi
  cat "$work/$name.text" >> "$work/$name.log"
}
# The largest first, so that no core is left alone with one at the end.
mapfile -t sources < <(find . -path ./build -prune -o -name '*.cu' -printf '%s %P\n' | sort -rn | cut -d' ' -f2-)
jobs=$(nproc)
for source in "${sources[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
  compile "$source" &
done
wait

# ptxas names a kernel, then its stack and spills, then its registers and shared memory, which it leaves out if there is none.
awk -v allowed="$allowed_stacks" -v large="$large_blocks" '
  function number(pattern,   text) {
    if (!match($0, pattern)) return 0
    text = substr($0, RSTART, RLENGTH)
    sub(/ .*/, "", text)
    return text + 0
  }
  BEGIN {
    count = split(allowed, lines, "\n")
    for (i = 1; i <= count; ++i) if (split(lines[i], words, " ") > 2) limit[words[1]] = words[2]
    count = split(large, lines, "\n")
    for (i = 1; i <= count; ++i) if (split(lines[i], words, " ") > 1) threads[words[1]] = words[2]
    row = "%-6s %-44s %9s %7s %6s %6s\n"
    printf row, "", "kernel", "registers", "shared", "stack", "spills"
  }
  FNR == 1 && /^error: / { broken = 1; ++failed }
  FNR == 1 && !/^error: / { broken = 0 }
  broken { print; next }
  /: (warning|error)|^ptxas (warning|error)/ { print; ++failed }
  /Compiling entry function/ { split($0, quoted, "\047"); kernel = quoted[2]; architecture = quoted[4] }
  /bytes stack frame/ {
    stack = number("[0-9]+ bytes stack frame")
    spills = number("[0-9]+ bytes spill stores") + number("[0-9]+ bytes spill loads")
  }
  / Used [0-9]+ registers/ {
    match($0, /[0-9]+ registers/)
    registers = substr($0, RSTART, RLENGTH) + 0
    printf row, architecture, kernel, registers, number("[0-9]+ bytes smem"), stack, spills
    block = int((registers + 7) / 8) * 8 * threads[kernel]
    if (block > 65536) {
      failures = failures sprintf("%s %s has %d registers for each of %d threads, in all %d; a block has at most 65536\n",
                                  architecture, kernel, registers, threads[kernel], block)
      ++failed
    } else if (stack > limit[kernel] + 0) {
      failures = failures sprintf("%s %s has a stack of %d bytes, %d of them spilled registers; allowed are %d\n",
                                  architecture, kernel, stack, spills, limit[kernel])
      ++failed
    } else {
      ++passed
    }
  }
  END {
    printf "%s", failures
    if (passed == 0) ++failed
    printf "%d passed, %d failed\n", passed, failed
    exit failed > 0
  }' "$work"/*.log
