#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every lint and test of the package. Run setup.sh first.
set -euo pipefail
cd "$(dirname "$0")"
bin=$(cd .. && pwd)/.venv/bin

cargo fmt --check
PYO3_PYTHON=$bin/python cargo clippy --release --quiet --locked -- -D warnings
"$bin/ruff" check --quiet
"$bin/ruff" format --check --quiet
"$bin/mypy"
"$bin/python" -m pytest "$@"
