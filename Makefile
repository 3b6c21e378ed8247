# Every target does its own set-up: a virtual environment in .venv, made anew when pyproject.toml changes.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed
COMMA := ,

.DEFAULT_GOAL := help
.PHONY: help demo test test-spark test-rest test-pure lint bench bench-quick check-wheel clean check-java

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(STAMP) check-java  ## a guided tour on sample data
	$(BIN)/sqlext demo

test: lint check-java  ## lint, then all tests: those that share a Spark session beside the others
	@$(MAKE) --no-print-directory -j2 test-spark test-rest

test-spark:
	$(BIN)/pytest -m spark

test-rest:
	$(BIN)/pytest -m "not spark"

test-pure: $(STAMP)  ## the tests that need neither Java nor Spark, but the slow ones, in a minute
	$(BIN)/pytest -n 2 -m "not spark and not slow"

lint: $(STAMP)  ## ruff, mypy, and imports only go down the layers
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/bench check-java  ## all workloads, an hour; PEERS=trino,flink,duckdb adds those; writes benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks --growth --peers lead,pandas,spark$(addprefix $(COMMA),$(PEERS))
	$(BIN)/python -m benchmarks.plot

bench-quick: .venv/bench check-java  ## the same on few rows, some minutes; writes nothing
	$(BIN)/python -m benchmarks --quick --peers lead,pandas,spark$(addprefix $(COMMA),$(PEERS))

check-wheel: $(STAMP)  ## build wheel and sdist, install the wheel elsewhere, import it
	$(BIN)/pytest tests/packaging

clean:  ## remove the virtual environment and all caches
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { \
	  echo "sqlext needs Python 3.10 or newer, $(PYTHON) is: $$($(PYTHON) --version 2>&1)"; \
	  echo "Hint: make PYTHON=/path/to/python3.11 …"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { \
	  echo "Hint: Debian and Ubuntu keep it in a package of its own: apt-get install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

.venv/bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,bench]'
	@touch $@

check-java: $(STAMP)
	@$(BIN)/python -c 'import sys; from sqlext.startup import java_problem; sys.exit(java_problem())'
