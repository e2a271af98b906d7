# For scripts that compile CUDA kernels: source it, then find_nvcc prints the path of nvcc, or explains how to get it and fails.

find_nvcc() {
  local path
  # Where cmake/TapeformerCuda.cmake looks.
  for path in "${NVCC:-}" "$(command -v nvcc || true)" "${CUDA_HOME:-}/bin/nvcc" "${CUDA_PATH:-}/bin/nvcc" /usr/local/cuda/bin/nvcc; do
    if [ -x "$path" ] && "$path" --version 2> /dev/null | grep -qE 'release (1[2-9]|[2-9][0-9])[.]'; then
      printf '%s\n' "$path"
      return
    fi
  done
  printf '%s\n' 'no nvcc of CUDA 12 or newer: install a CUDA toolkit, or' \
    '`pip install nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl` and set' \
    'NVCC=SITE_PACKAGES/nvidia/cu13/bin/nvcc' >&2
  return 1
}
