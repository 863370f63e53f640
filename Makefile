# Two commands do all set-up: `make demo` and `make test`. A second run starts at once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := dev,opcua,modbus,mqtt,s7,serial,report,parquet,xlsx,metrics,web,dask
# what the tutorial uses beside the daemon: figures, spreadsheets
FOR_DEMO := report,xlsx
SOURCES := pyproject.toml $(wildcard locks/*.txt tuner/core/posterior/*.c)
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
# what is installed is what the locks name, with these hashes; `make lock` writes them from pyproject.toml
comma := ,
LOCKS_OF = --require-hashes -r locks/build.txt -r locks/daemon.txt $(patsubst %,-r locks/%.txt,$(subst $(comma), ,$(1)))
OURSELVES := --no-deps --no-build-isolation
# setuptools calls the tables of extensions experimental at each build
export PYTHONWARNINGS := ignore:::setuptools
# one BLAS thread: two are slower on a busy machine, and replay is bit for bit only with one
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
# the tests start Python hundreds of times: none of them should compile the package again
unexport PYTHONDONTWRITEBYTECODE

# rivals for `tuner bench peers`; where pip's index has no CPU build of torch, plain torch brings gigabytes for graphics
# cards: say with TORCH=... what installs its CPU build
TORCH ?= torch==2.13.0

.PHONY: demo quick test tests test-all coverage test-peers test-foreign lint style types hooks quick-tests clean help install-service lock release test-faults test-busy

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: $(SOURCES) | $(BIN)/python
	$(PIP) install $(call LOCKS_OF,$(FOR_DEMO))
	$(PIP) install $(OURSELVES) -e .
	@touch $@

$(VENV)/dev.stamp: $(SOURCES) | $(BIN)/python
	$(PIP) install $(call LOCKS_OF,$(EXTRAS))
	$(PIP) install $(OURSELVES) -e .
	@touch $(VENV)/run.stamp $@

$(VENV)/fuzz.stamp: $(VENV)/dev.stamp
	$(PIP) install $(call LOCKS_OF,fuzz)
	@touch $@

$(VENV)/peers.stamp: $(VENV)/dev.stamp
	$(PIP) install $(TORCH)
	$(PIP) install -e ".[$(EXTRAS),peers]"
	@touch $@

demo: $(VENV)/run.stamp  ## install and watch a simulated machine being tuned
	$(BIN)/tuner demo

lint: style types  ## style, types and import contracts

style: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/dev.stamp
	$(BIN)/mypy

# one file to one process: the daemons that its tests share are started once; two for each core, because many tests wait;
# in the order of tests/conftest.py, not of xdist, which begins with the files that have the most tests
IN_PARALLEL := -n 4 --dist loadfile --no-loadscope-reorder

tests: $(VENV)/dev.stamp style
	$(BIN)/pytest $(IN_PARALLEL) -m "not slow and not peers and not foreign"

# types are checked beside the tests: that takes most of a minute where mypy has no cache yet
test: $(VENV)/dev.stamp  ## everything but the long suites
	@$(MAKE) --no-print-directory -j 2 types tests

# what the change of a line most often breaks
QUICK := tests/core tests/campaign tests/config tests/wire

quick: $(VENV)/dev.stamp  ## lint, types and the tests of core, campaign, config and wire: a minute, while you work
	@$(MAKE) --no-print-directory -j 2 types quick-tests

quick-tests: style
	$(BIN)/pytest -n 2 --dist loadfile -q -m "not slow and not peers and not foreign and not thorough" $(QUICK)

hooks: $(VENV)/dev.stamp  ## have git run lint and types before each commit
	$(BIN)/pre-commit install

# a busy machine fails no test; the loops end with their shell, whatever ends it
RUNS ?= 5
test-busy: $(VENV)/dev.stamp  ## `make test` RUNS=5 times in a row beside four busy loops
	@for loop in 1 2 3 4; do (while kill -0 $$$$ 2>/dev/null; do :; done) & done; \
	for run in $$(seq $(RUNS)); do \
	    $(MAKE) --no-print-directory test || { echo "run $$run of $(RUNS) failed beside four busy loops"; exit 1; }; \
	    echo "run $$run of $(RUNS) passed beside four busy loops"; \
	done

# with TUNER_COLD every process is started as users start it, not forked (tests/warm.py)
test-all: lint  ## the long suites too
	TUNER_COLD=1 $(BIN)/pytest $(IN_PARALLEL) -m "not peers and not foreign" --hypothesis-profile=random --timeout=3600

coverage: $(VENV)/dev.stamp  ## which lines `make test` runs
	$(BIN)/pytest $(IN_PARALLEL) -m "not slow and not peers and not foreign" --cov --cov-report=term

test-peers: $(VENV)/peers.stamp  ## what needs a rival's packages (BoTorch, Optuna)
	$(BIN)/pytest -m peers

# programs of Debian and packages of npm, of the versions that tests/foreign/package.json names
$(VENV)/foreign.stamp: tests/foreign/package.json | $(BIN)/python
	@command -v npm >/dev/null && PATH="$$PATH:/usr/sbin" command -v mosquitto >/dev/null || \
	    apt-get install -y --no-install-recommends nodejs npm mosquitto || \
	    { echo "make test-foreign needs nodejs, npm and mosquitto: as root, apt-get install nodejs npm mosquitto"; exit 1; }
	mkdir -p $(VENV)/foreign
	cp tests/foreign/package.json $(VENV)/foreign/
	npm install --prefix $(VENV)/foreign --no-audit --no-fund --no-package-lock --loglevel=error
	@touch $@

test-foreign: $(VENV)/dev.stamp $(VENV)/foreign.stamp  ## tune machines behind software of others: node-opcua, modbus-serial, mqtt.js, zeromq.js, ajv
	$(BIN)/pytest -m foreign tests/foreign

# uv resolves for all Pythons at once; it writes nothing that is installed, so it has no lock itself
lock: $(VENV)/dev.stamp  ## write locks/, the bill of materials and the list of licences anew; LOCK=--upgrade takes newer versions
	$(PIP) install "uv>=0.9,<1"
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m scripts.lock $(LOCK)
	$(PIP) install $(call LOCKS_OF,$(EXTRAS))
	$(BIN)/python -m scripts.sbom

release: $(VENV)/dev.stamp  ## VERSION=0.3.0: tests, changelog, version, tag, wheel, bill of materials, hashes; DRY=1 keeps nothing
	$(BIN)/python -m scripts.release $(VERSION) $(if $(DRY),--dry-run)

test-faults: $(VENV)/fuzz.stamp  ## kills, power cuts, full disks, fuzz, crowds, floods, liars as one table: an hour or two, goes on where it was; or FAULTS=short
	$(BIN)/python -m tests.faults.table $(if $(FAULTS),--$(FAULTS))

clean:  ## remove what make created
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage* tuner/core/posterior/*.so

# where `make install-service` puts things; DESTDIR is for packagers and tests
PREFIX ?= /opt/tuner
SYSCONFDIR ?= /etc
SERVICE_EXTRAS ?= opcua,modbus,mqtt,s7,serial,report,web
INSTALLED = $(DESTDIR)$(PREFIX)
CONFIGURED = $(DESTDIR)$(SYSCONFDIR)

install-service:  ## as root: install the daemon as a systemd service, see docs/operations.md
	@$(PYTHON) -c 'import os, sys; b = sys.base_prefix; b.startswith(os.path.expanduser("~") + os.sep) and print(f"warning: the service cannot see the Python in {b}: install with PYTHON=/usr/bin/python3", file=sys.stderr)'
	rm -rf build
	umask 022; $(PYTHON) -m venv "$(INSTALLED)"
	umask 022; "$(INSTALLED)/bin/python" -m pip --disable-pip-version-check -q install $(call LOCKS_OF,$(SERVICE_EXTRAS))
	umask 022; "$(INSTALLED)/bin/python" -m pip --disable-pip-version-check -q install --force-reinstall $(OURSELVES) .
	@if [ -n "$(DESTDIR)" ]; then grep -rlIF "$(DESTDIR)" "$(INSTALLED)/bin" "$(INSTALLED)/pyvenv.cfg" | xargs -r sed -i 's|$(DESTDIR)||g'; fi
	install -D -m 644 docs/operations.md "$(INSTALLED)/share/doc/tuner/operations.md"
	install -D -m 644 docs/page.md "$(INSTALLED)/share/doc/tuner/page.md"
	install -d "$(CONFIGURED)/systemd/system" "$(CONFIGURED)/tuner" "$(DESTDIR)/usr/local/bin"
	for unit in tuner tuner-web; do sed 's|/opt/tuner|$(PREFIX)|g' systemd/$$unit.service > "$(CONFIGURED)/systemd/system/$$unit.service"; done
	chmod 644 "$(CONFIGURED)/systemd/system/tuner.service" "$(CONFIGURED)/systemd/system/tuner-web.service"
	install -D -m 644 systemd/tuner.sysusers "$(CONFIGURED)/sysusers.d/tuner.conf"
	install -D -m 644 systemd/tuner.tmpfiles "$(CONFIGURED)/tmpfiles.d/tuner.conf"
	test -e "$(CONFIGURED)/tuner/tuner.toml" || install -m 640 configs/sasena.toml "$(CONFIGURED)/tuner/tuner.toml"
	ln -sfn "$(PREFIX)/bin/tuner" "$(DESTDIR)/usr/local/bin/tuner"
	@if [ -z "$(DESTDIR)" ]; then systemd-sysusers tuner.conf && systemd-tmpfiles --create tuner.conf && systemctl daemon-reload; fi
	@echo "Installed. Edit $(SYSCONFDIR)/tuner/tuner.toml, check it with: tuner check-config $(SYSCONFDIR)/tuner/tuner.toml"
	@echo "and start the daemon with: systemctl enable --now tuner"
