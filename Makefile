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

.PHONY: demo test test-all lint clean help

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

demo: $(VENV)/run.stamp  ## install and watch a simulated machine being tuned
	$(BIN)/tuner demo

lint: $(VENV)/dev.stamp  ## style, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint  ## everything that fits in six minutes on two cores
	$(BIN)/pytest -n 2 -m "not slow" --cov --cov-report=term

test-all: lint  ## the long suites too
	$(BIN)/pytest -n 2 --cov --cov-report=term --timeout=3600

clean:  ## remove what make created
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage* tuner/core/*.so
