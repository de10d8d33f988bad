#!/usr/bin/env bash
# Formats C++ and Python sources in place.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -z '*.h' '*.cpp' '*.cu' '*.hip' | xargs -0r .venv/bin/clang-format -i
.venv/bin/ruff check --quiet --fix
.venv/bin/ruff format --quiet
