#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lints and tests of the Python side of the package; its Rust is checked with the workspace. Run
# setup.sh with the library first. Arguments are passed to pytest.
set -euo pipefail
cd "$(dirname "$0")"
bin=$(cd .. && pwd)/.venv/bin

"$bin/ruff" check --quiet
"$bin/ruff" format --check --quiet
"$bin/mypy"
"$bin/python" -m mypy.stubtest --concise arrowsmith._lib
"$bin/python" -m pytest "$@"
