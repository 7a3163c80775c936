# All tools run in .venv; every target first creates it, or updates it to match the lock file.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Several processes import the same modules, so compiled modules are kept, as is Python's default, even if the
# environment forbids it.
export PYTHONDONTWRITEBYTECODE :=
CORE_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

# Without examples in documentation, of which there are none: looking for them takes a compilation of each crate.
CARGO_TEST := cargo test --workspace --tests --quiet

COMPILE := $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --quiet

.PHONY: race test compile-tests unit engine lint fmt bench budget lock wheel sdist clean

## Assemble a real OpenSearch, index a million documents, query them, report.
race: $(VENV)/.built
	$(BIN)/pacenote race --track=http_logs --track-repository=bundled $(RACE)

## All tests that CI runs: Rust, Python, and races against a real engine. Tests that fail run once more, because a busy
## machine can delay anything: one that then passes is named, and is to be made independent of the machine's load.
test: unit engine

## Tests without an engine that take little time. The target lint checks the structure of the sources.
unit: $(VENV)/.built
	$(CARGO_TEST) || { echo "unstable if they pass now: the Rust tests run again" && $(CARGO_TEST); }
	$(BIN)/python scripts/run_tests.py unit

compile-tests: $(VENV)/.built
	$(CARGO_TEST) --no-run

## Tests that wait for other processes or for whole races against local servers, several at a time; then those that start
## a real engine, one on each core; then those that measure one, while nothing else runs. PACENOTE_TEST_HOME is a home
## folder in which the engines are kept, BESIDE a command that runs meanwhile at the lowest priority.
engine: $(VENV)/.built
	$(BIN)/python scripts/run_tests.py process engine alone --beside="$(BESIDE)"

lint: $(VENV)/.built
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist loadfile tests/shape

fmt: $(VENV)/.ready
	cargo fmt --all
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

## Benchmarks, compared with their targets; see benchmarks/README.md.
bench: $(VENV)/.built
	$(BIN)/python benchmarks/run.py

## Instructions per operation, compared with benchmarks/budget.json; BUDGET=--renew rewrites that file. The program is
## built with the features that the core has, by naming both packages: the counted code is that of the core, and Cargo
## compiles none of it again.
budget: $(VENV)/.built
	cargo build --release --quiet --package pacenote-python --package pacenote-instructions --bin pacenote-instructions
	$(BIN)/python benchmarks/budget.py $(BUDGET)

## A wheel in dist/ for Python 3.11 and newer. Its name states the oldest C library with which it works, which is at most
## that of this machine.
wheel: $(VENV)/.ready
	$(BIN)/maturin build --release --quiet --out dist

## A source distribution in dist/.
sdist: $(VENV)/.ready
	$(BIN)/maturin sdist --out dist

## Update the lock files for Python packages after a change to pyproject.toml: those of Pacenote alone, and those of
## development.
lock: $(VENV)/.ready
	$(BIN)/pip install --quiet uv
	$(COMPILE) --upgrade --extra dev --output-file requirements.lock
	$(COMPILE) --constraints requirements.lock --output-file requirements-installed.lock

$(VENV)/.ready: requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	@echo "downloading Python packages"
	$(BIN)/pip install --quiet --require-hashes --requirement requirements.lock
	touch $@

$(VENV)/.built: $(VENV)/.ready $(CORE_SOURCES) pyproject.toml
	@echo "compiling Pacenote, the first time for about 3 minutes on two cores"
	$(BIN)/maturin develop --release --quiet >/dev/null
	touch $@

clean:
	rm -rf $(VENV) target dist
