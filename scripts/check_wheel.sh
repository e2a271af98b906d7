#!/usr/bin/env bash
# Installs the wheels in build/wheel/dist (scripts/wheel.sh) in fresh minimal installations of each named system (default: debian12
# ubuntu2204), which have Python with pip but no compiler and none of the libraries, and runs the command and a program there
# without a network. Needs what scripts/check_systems.sh needs, and PyPI for NumPy. The root folders are build/systems/NAME-wheel.
# PYTHON names another Python of these systems than python3. The last line is "N passed, N failed".
set -euo pipefail

# In its own mount namespace, so that all mounts below end with this process.
[ -n "${TAPEFORMER_NAMESPACE:-}" ] || TAPEFORMER_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
systems=$root/build/systems
[ "$#" -gt 0 ] || set -- debian12 ubuntu2204
. "$root/scripts/systems.sh"
python=${PYTHON:-python3}
mkdir -p "$systems"
for name in "$@"; do
  folder=$systems/$name-wheel
  log=$systems/$name-wheel.log
  : > "$log"
  rm -rf --one-file-system "$folder"
  without_network=()
  try 'a fresh installation' install_system "$name" "$folder" || continue
  prepare_system "$folder"
  try "$python" inside "$folder" "apt-get -qq update && apt-get -qq install -y --no-install-recommends $python $python-venv" || continue
  try 'no compiler' inside "$folder" '! command -v cc gcc g++ clang cmake' || true
  cp "$root"/build/wheel/dist/*.whl "$folder/root/tapeformer/"
  cp "$root/tests/wheel/program.py" "$folder/root/tapeformer/"
  # This machine's pip configuration, which may name a mirror.
  if [ -f /etc/pip.conf ]; then cp /etc/pip.conf "$folder/etc/"; fi
  try 'pip install' inside "$folder" "$python -m venv env && env/bin/pip install --find-links . tapeformer" || continue
  without_network=(unshare --net)
  try 'import tapeformer' inside "$folder" 'env/bin/python -c "import tapeformer; print(tapeformer.__version__)"' || true
  try 'a program' inside "$folder" 'env/bin/python program.py' || true
  try 'tapeformer info' inside "$folder" 'env/bin/tapeformer info' || true
  try 'OpenBLAS of the wheel' inside "$folder" 'env/bin/tapeformer info | grep "OpenBLAS 0"' || true
  try 'tapeformer demo' inside "$folder" 'env/bin/tapeformer demo --steps 30' || true
  try 'python -m tapeformer' inside "$folder" 'env/bin/python -m tapeformer --version' || true
  try 'exit codes' inside "$folder" 'env/bin/tapeformer nonsense; [ $? -eq 2 ]' || true
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
