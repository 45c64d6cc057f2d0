# shellcheck shell=bash
# Sourced by the launchers: finds a Python, makes the virtual environment, sets the allocator.

# Large temporaries of XLA on CPU are otherwise given back and page-faulted again at every step
# (a 400 MB gather took 270 ms so, 80 ms with these).
export MALLOC_MMAP_MAX_="${MALLOC_MMAP_MAX_:-0}"
export MALLOC_TRIM_THRESHOLD_="${MALLOC_TRIM_THRESHOLD_:-17179869184}"
export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX:-1}"

find_python() {
  local name
  for name in "${PYTHON:-}" python3.13 python3.12 python3.11 python3 python; do
    if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1 &&
      "$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
    then
      command -v "$name"
      return
    fi
  done
  echo "error: no Python 3.11, 3.12 or 3.13 found; install one, or set PYTHON=/path/to/python" >&2
  return 1
}

make_venv() {
  local python
  if [ ! -x "$1/bin/python" ] || ! "$1/bin/python" -m pip --version >/dev/null 2>&1; then
    python="$(find_python)"
    if ! "$python" -m venv "$1"; then
      echo "error: $python cannot make a virtual environment; on Debian: apt install python3-venv" >&2
      return 1
    fi
  fi
}
