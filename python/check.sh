#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lints and tests of the Python side of the package; its Rust is checked with the workspace. Run
# setup.sh with the library first. Arguments are passed to pytest.
#
#   python/check.sh [ARGUMENTS]
#   python/check.sh engines [ARGUMENTS]    the tests with Dask, Daft, Ray and deltalake
set -euo pipefail
cd "$(dirname "$0")"
venv=$(cd .. && pwd)/.venv

if [ "${1:-}" = engines ]; then
    shift
    exec "$venv-engines/bin/python" -m pytest engines "$@"
fi
bin=$venv/bin

"$bin/ruff" check --quiet
"$bin/ruff" format --check --quiet
"$bin/mypy"
# It has no option to print nothing when it finds nothing.
said=$("$bin/basedpyright" --pythonpath "$bin/python") || {
    echo "$said"
    exit 1
}
"$bin/python" -m mypy.stubtest --concise arrowsmith._lib
"$bin/python" -m pytest "$@"
