#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every lint and test of the package that is not about its Rust, which cargo looks at with the rest of the workspace.
# Run setup.sh with the library first. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")"
bin=$(cd .. && pwd)/.venv/bin

"$bin/ruff" check --quiet
"$bin/ruff" format --check --quiet
"$bin/mypy"
"$bin/python" -m mypy.stubtest --concise arrowsmith._lib
"$bin/python" -m pytest "$@"
