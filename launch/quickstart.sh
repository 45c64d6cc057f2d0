#!/usr/bin/env bash
# Makes .venv, installs the package and runs the quickstart: a navigator trained on the Python
# documentation that is already on this disk. Needs Python 3.11-3.13 and about 5 minutes.
# Further arguments go to the program, e.g. launch/quickstart.sh --config.seed=1
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source launch/environment.sh

make_venv .venv
echo "Installing (once) ..."
.venv/bin/python -m pip install --quiet --editable .
.venv/bin/python -m wikinav_jax.main --config=configs/quickstart.py --workdir=runs/quickstart "$@"
echo "Report: $PWD/runs/quickstart/report.html"
