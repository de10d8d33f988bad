# The front door. `make help` lists the targets; each does the set-up that it needs.
# Variables: ARGS (passed on), DEVICE (of the demo: cpu, cuda, virtual:gfx942), JOBS, PYTHON,
# WAVEFIRE_CACHE (downloads, compiler cache; outside of the clone).

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

JOBS ?= $(shell nproc)
CACHE := $(or $(WAVEFIRE_CACHE),$(HOME)/.cache/wavefire)
BUILD := build/default
PY := .venv/bin/python
PACKAGE_PATH := $(CURDIR)/$(BUILD)/python

export WAVEFIRE_CACHE := $(CACHE)
export DEVICE
export CCACHE_DIR ?= $(CACHE)/ccache
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
export CTEST_PARALLEL_LEVEL := $(JOBS)

# Tests run beside each other: threads that wait must not spin on a core that another needs.
test test-all asan ubsan tsan: export OMP_WAIT_POLICY ?= passive

# Warnings stop CI, not users whose compiler knows new ones.
CONFIGURE := cmake --preset default --log-level=WARNING -DWAVEFIRE_BUILD_PYTHON=ON \
  -DPython_EXECUTABLE=$(CURDIR)/$(PY) -DWAVEFIRE_WERROR=$(if $(CI),ON,OFF)
PYTEST := PYTHONPATH=$(PACKAGE_PATH) $(PY) -m pytest

.PHONY: help
help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup:  ## Install what builds and tests need (system packages by apt, Python packages in .venv)
	@tools/setup.sh build test demo

.PHONY: build
build: setup  ## Compile everything: library, Python package, tests, examples, benchmarks
	@$(CONFIGURE) >/dev/null
	@cmake --build --preset default

.PHONY: package
package: setup  ## Compile the library and the Python package only
	@$(CONFIGURE) >/dev/null
	@cmake --build --preset default --target wavefire_ffi $(if $(filter virtual:%,$(DEVICE)),wavefire_virtual_link)

.PHONY: demo
demo: package  ## Serve prompts with SmolLM2-135M; DEVICE=cuda, DEVICE=virtual:gfx942; ARGS="--check", "--prompt TEXT", ...
	@tools/setup.sh demo
	@model=$$(tools/fetch_model.sh) && \
	  PYTHONPATH=$(PACKAGE_PATH) $(PY) examples/python/serve.py --model "$$model" \
	  --device $(or $(DEVICE),cpu) $(ARGS)

.PHONY: test
test: build  ## Run the fast tests: C++, then Python, tools and docs
	@ctest --preset default
	@$(PYTEST) $(ARGS)

.PHONY: test-all
test-all: build  ## Run every test, with the full case tables
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error
	@$(PYTEST) -m "" $(ARGS)

.PHONY: gpu-test
gpu-test: build  ## Run the case tables on this machine's GPU: C++, then Python
	@ctest --test-dir $(BUILD) -L gpu --output-on-failure --no-tests=error
	@$(PYTEST) tests/gpu_python $(ARGS)

.PHONY: gpu-soak
gpu-soak: package  ## Check random problems against float64; DEVICE=cpu, virtual:gfx942; ARGS="--minutes 8"
	@PYTHONPATH=$(PACKAGE_PATH) $(PY) tests/python/soak.py --device $(or $(DEVICE),cuda) $(ARGS)

.PHONY: check-amd
check-amd: build  ## Registers, LDS and spills of the kernels for gfx942 and gfx950; predicted shares of peak
	@$(PY) tools/check_amd.py --build $(BUILD)

.PHONY: asan ubsan tsan
asan ubsan tsan: setup  ## Run the fast C++ tests under a sanitizer
	@cmake --preset $@ --log-level=WARNING >/dev/null
	@cmake --build --preset $@
	@ctest --preset $@

.PHONY: bench
bench: package  ## Measure against PyTorch: table, JSON and plots in benchmarks/results
	@tools/setup.sh bench
	@PYTHONPATH=$(PACKAGE_PATH) $(PY) benchmarks/run.py $(ARGS)

.PHONY: gpu-bench
gpu-bench: build  ## Measure on this machine's CUDA GPU (needs PyTorch with CUDA, see PYTHON)
	@tools/setup.sh bench
	@PYTHONPATH=$(PACKAGE_PATH) $(PY) benchmarks/gpu.py $(ARGS)

.PHONY: lint
lint: setup  ## Check formats, clang-tidy, ruff, scripts, structure and documents
	@$(CONFIGURE) >/dev/null
	@tools/setup.sh lint
	@tools/lint.sh

.PHONY: format
format:  ## Format C++ and Python sources in place
	@tools/setup.sh lint
	@tools/format.sh

.PHONY: docs
docs: package  ## Check the documents: links, paths, and that their code blocks run
	@$(PY) tools/check_docs.py
	@$(PYTEST) tests/docs

.PHONY: clean
clean:  ## Remove what was built here (the cache stays)
	@rm -rf build dist .venv .pytest_cache .ruff_cache .hypothesis
