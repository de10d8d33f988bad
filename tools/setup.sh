#!/usr/bin/env bash
# Sets this machine up: system packages, then a Python environment with the named sets of packages
# (files in tools/requirements). Quick and silent when there is nothing to do.
#
#   tools/setup.sh build test
#
# The environment lives in the cache ($WAVEFIRE_CACHE, default ~/.cache/wavefire), named after the
# Python version and the requirement files, so that clones with the same needs share it; .venv links
# to it. Set PYTHON to choose an interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."

cache=${WAVEFIRE_CACHE:-$HOME/.cache/wavefire}

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

usable_python() {  # usable_python <command>: a version that we support?
  "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
    if usable_python "$candidate"; then
      command -v "$candidate"
      return
    fi
  done
}

missing_packages() {  # Debian packages for what this machine lacks
  local python
  command -v c++ >/dev/null || echo g++
  command -v cmake >/dev/null || echo cmake
  command -v ninja >/dev/null || echo ninja-build
  command -v ccache >/dev/null || echo ccache
  command -v git >/dev/null || echo git
  [ -e /etc/ssl/certs/ca-certificates.crt ] || echo ca-certificates
  [ -e /usr/include/gtest/gtest.h ] || echo '#include <gtest/gtest.h>' |
    c++ -E -x c++ - >/dev/null 2>&1 || echo libgtest-dev
  [ -e /usr/include/zlib.h ] || echo '#include <zlib.h>' |
    c++ -E -x c++ - >/dev/null 2>&1 || echo zlib1g-dev
  python=$(find_python)
  if [ -z "$python" ]; then
    echo python3 python3-venv
  elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    echo python3-venv
  fi
}

amd_tools() {  # a clang that compiles kernels for AMD, its linker, LLVM's library
  local version
  [ "${CI:-}" = true ] || [[ ${DEVICE:-} == virtual:* ]] || return 0
  for version in 22 21 20; do
    command -v "clang-$version" >/dev/null && command -v "ld.lld-$version" >/dev/null &&
      [ -e "/usr/lib/llvm-$version/include/llvm-c/Disassembler.h" ] && return
  done
  version=$(apt-cache --names-only search '^clang-2[0-2]$' 2>/dev/null | cut -d ' ' -f 1 | sort |
    tail -n 1)
  if [ -n "$version" ]; then
    echo "$version" "lld-${version#clang-}" "llvm-${version#clang-}-dev"
  fi
}

install_packages() {
  local packages=("$@") root=() log=$cache/apt.log
  if ! command -v apt-get >/dev/null; then
    fail "install what these Debian packages hold, then try again: ${packages[*]}"
  fi
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      fail "neither root nor sudo here; as root run: apt-get install ${packages[*]}"
    root=(sudo)
  fi
  say "installing ${packages[*]}"
  mkdir -p "$cache"
  if ! "${root[@]}" apt-get update >"$log" 2>&1 ||
    ! "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y --no-install-recommends "${packages[@]}" >>"$log" 2>&1; then
    tail -n 20 "$log" >&2
    fail "apt-get failed; all of its output is in $log"
  fi
}

# The default build of PyTorch brings gigabytes of CUDA along. Where no NVIDIA driver is, PyTorch's
# index of CPU builds is asked too, if it can be reached; the caller's own indices come first.
cpu_index=https://download.pytorch.org/whl/cpu
torch_options() {
  [ -z "${PIP_EXTRA_INDEX_URL:-}" ] && [ ! -e /proc/driver/nvidia/version ] || return 0
  "$1" - "$cpu_index/torch/" 2>/dev/null <<'END' || return 0
import sys, urllib.request
urllib.request.urlopen(urllib.request.Request(sys.argv[1], method="HEAD"), timeout=5)
END
  echo "--extra-index-url $cpu_index"
}

install_set() {  # install_set <environment> <set>
  local stamp=$1/.installed-$2
  [ -e "$stamp" ] && return
  say "installing the Python packages of tools/requirements/$2.txt"
  local options
  read -ra options < <(torch_options "$1/bin/python") || true
  "$1/bin/python" -m pip install -q --disable-pip-version-check "${options[@]}" \
    -r "tools/requirements/$2.txt" >&2
  touch "$stamp"
}

read -ra missing < <({ missing_packages; amd_tools; } | tr '\n' ' ') || true
if [ ${#missing[@]} -gt 0 ]; then
  install_packages "${missing[@]}"
fi

python=$(find_python)
[ -n "$python" ] || fail "no Python 3.11, 3.12 or 3.13 here; install one or set PYTHON to one"

version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
environment=$cache/venv/py$version-$(cat tools/requirements/*.txt | sha256sum | cut -c1-12)
export PIP_CACHE_DIR=$cache/pip
mkdir -p "$cache/venv"

exec 9>"$environment.lock"
flock 9
if [ ! -e "$environment/.created" ]; then
  say "creating a Python $version environment in $environment"
  "$python" -m venv --clear "$environment"
  touch "$environment/.created"
fi
for set in "$@"; do
  install_set "$environment" "$set"
done
# A folder that was made here by hand stays; ours is a link.
[ -L .venv ] || [ ! -e .venv ] || fail ".venv exists and is not ours; remove it and try again"
ln -sfn "$environment" .venv
