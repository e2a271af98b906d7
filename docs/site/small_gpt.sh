#!/usr/bin/env bash
# The commands that docs/site/pages/small_gpt.md shows: trains a small GPT to count and writes its explorer, page.html.
# small_gpt.sh TAPEFORMER FOLDER
set -euo pipefail
tapeformer=$1
cd "$2"

# shown
awk 'BEGIN { srand(1); for (line = 0; line < 20000; ++line) {
  n = int(900 * rand()); for (i = 0; i < 6; ++i) printf "%d%s", n + i, i < 5 ? " " : "\n" } }' > counting.txt
"$tapeformer" train lm --text counting.txt --out counting --layers 2 --width 64 --heads 4 --context 32 --batch 32 \
  --steps 600 --lr 3e-3 --evaluate-every 600
"$tapeformer" inspect --model counting --text "107 108 109 110" --live --nudges --out page.html
