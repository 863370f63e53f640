# Two commands do all set-up: `make demo` and `make test`. A second run starts at once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := dev,opcua,modbus,mqtt,serial,report,dask
SOURCES := pyproject.toml $(wildcard tuner/core/*.c)
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
# one BLAS thread: two are slower on a busy machine, and replay is bit for bit only with one
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1

# rivals for `tuner bench peers`; where pip's index has no CPU build of torch, plain torch brings gigabytes for graphics
# cards: say with TORCH=... what installs its CPU build
TORCH ?= torch==2.13.0

.PHONY: demo test test-all test-peers lint clean help

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: $(SOURCES) | $(BIN)/python
	$(PIP) install -e .
	@touch $@

$(VENV)/dev.stamp: $(SOURCES) | $(BIN)/python
	$(PIP) install -e ".[$(EXTRAS)]"
	@touch $(VENV)/run.stamp $@

$(VENV)/peers.stamp: $(VENV)/dev.stamp
	$(PIP) install $(TORCH)
	$(PIP) install -e ".[$(EXTRAS),peers]"
	@touch $@

demo: $(VENV)/run.stamp  ## install and watch a simulated machine being tuned
	$(BIN)/tuner demo

lint: $(VENV)/dev.stamp  ## style, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint  ## everything that fits in six minutes on two cores
	$(BIN)/pytest -n 2 -m "not slow and not peers" --cov --cov-report=term

test-all: lint  ## the long suites too
	$(BIN)/pytest -n 2 -m "not peers" --cov --cov-report=term --timeout=3600

test-peers: $(VENV)/peers.stamp  ## what needs a rival's packages (BoTorch)
	$(BIN)/pytest -m peers

clean:  ## remove what make created
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage* tuner/core/*.so
