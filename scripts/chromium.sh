# For scripts that open pages in a browser: sets CHROMIUM, unless it is set, to Chromium's headless shell, or else to the
# whole browser; empty if neither is installed.
: "${CHROMIUM:=$(command -v chromium-headless-shell || command -v chromium || true)}"
export CHROMIUM
