#!/usr/bin/env bash
# Everything that `make lint` checks; goes through all of it and fails at the end if anything did.
#
#   tools/lint.sh           all
#   tools/lint.sh --quick   without clang-tidy (what pre-commit runs)
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/.venv/bin:$PATH

failures=()
check() {  # check <name> <command...>
  local name=$1
  shift
  if ! "$@"; then
    failures+=("$name")
  fi
}

clang_format() {
  git ls-files -z '*.h' '*.cpp' '*.cu' '*.hip' | xargs -0r clang-format --dry-run -Werror
}

scripts() {
  local file status=0
  while IFS= read -r -d '' file; do
    bash -n "$file" || status=1
    grep -qE '^set -e?uo pipefail$' "$file" || { echo "$file: no 'set -euo pipefail'"; status=1; }
  done < <(git ls-files -z '*.sh' .ci/run)
  return $status
}

check clang-format clang_format
check ruff ruff check --quiet
check ruff-format ruff format --check --quiet
check scripts scripts
check structure python tools/check_structure.py
check docs python tools/check_docs.py
if [ "${1:-}" != --quick ]; then
  check clang-tidy python tools/run_clang_tidy.py
fi

if [ ${#failures[@]} -gt 0 ]; then
  echo "lint: failed: ${failures[*]}" >&2
  exit 1
fi
echo "lint: clean"
