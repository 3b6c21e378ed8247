# Every target sets up what it needs: a virtual environment in .venv, which is updated when pyproject.toml changes.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed
DEMO := .venv/installed-demo
COMMA := ,
# dbt needs an older protobuf than Spark Connect gets, so it has an environment of its own, which sees the libraries of .venv.
DBT ?= 1.11
DBT_BIN := .venv/dbt-$(DBT)/bin
DBT_STAMP := .venv/dbt-$(DBT)/installed
SPARKS ?= 4.0 4.1 4.2 4.3
# Comet and the newest Spark that it has a build for.
COMET := 1.2.0
COMET_SPARK := 4.1
COMET_PYTHON = $(CURDIR)/.venv/spark-$(COMET_SPARK)/bin/python
WITH_COMET = SQLEXT_TEST_COMET=$(COMET) PYSPARK_PYTHON=$(COMET_PYTHON) PYTHONPATH=$(CURDIR)
# The newest Spark for which Iceberg has a runtime.
ICEBERG_SPARK := 4.1
ICEBERG_PYTHON = $(CURDIR)/.venv/spark-$(ICEBERG_SPARK)/bin/python
WITH_ICEBERG = SQLEXT_TEST_FORMAT=iceberg PYSPARK_PYTHON=$(ICEBERG_PYTHON) PYTHONPATH=$(CURDIR)
# The Python of a cluster's workers: what sqlext needs, as it is in .venv, but not sqlext.
WORKERS := .venv/workers
# What finds accessibility problems of pages (tests/browser.py). Without npm or its registry these tests are skipped,
# except in CI.
AXE := .venv/axe
LIBRARIES := numpy numba pyarrow pandas protobuf google-re2
# The statement data files in every way to run them, and one stream from `sqlext run` into a table.
FAST := tests/architecture tests/statements tests/engine/streams/test_run.py

# Without what needs Spark's session, sqlfluff or notebooks.
LOWEST := tests/pattern tests/rewriter tests/expressions tests/operators
UV := .venv/release/bin/uv
# Only pyproject.toml says where the repository is. Files that cannot read it there are compared with it by a test.
ADDRESS = $(shell sed -n 's/^Source = "\([^"]*\)".*/\1/p' pyproject.toml)
REPOSITORY_OF = $(lastword $(subst /, ,$(dir $(1))))/$(notdir $(1))
REPOSITORY = $(call REPOSITORY_OF,$(ADDRESS))

SHELL := /bin/bash
# Some images set it. Each of pytest's processes would then compile all tests, with their assertions, once more.
unexport PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help
.PHONY: help demo demo-kafka test check t test-fast test-dbt test-cluster test-comet test-chaos test-spark-versions test-features test-iceberg test-installed test-lowest test-soak lint lint-workflows address bench bench-quick docs check-wheel dist audit clean check-java

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(DEMO) check-java  ## show a guided tour on sample data
	$(BIN)/sqlext demo

demo-kafka: $(STAMP) check-java  ## start a Kafka broker on this machine, write alerts from topic to topic, and kill the driver
	$(BIN)/python -m tests.kafka.demo

test: lint check-java $(DBT_STAMP) $(AXE)/installed .venv/spark-$(ICEBERG_SPARK)/installed  ## run the linters, then all tests in two processes, each with a Spark session of its own
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

test-fast: $(STAMP) check-java  ## run the statement data files and one stream on Spark, in three minutes
	$(BIN)/pytest $(FAST)

check: lint  ## run the linters and the fast tests without Java, Spark and a browser, in about 45 seconds on two cores
	SQLEXT_RANDOM=few $(BIN)/pytest -n 2 --dist worksteal -m "not spark and not slow"

t: $(STAMP)  ## run one file or folder, T=tests/…, without the linters; after a failure only what failed
	$(BIN)/pytest --last-failed $(T)

test-dbt: $(DBT_STAMP) check-java  ## run dbt's own suite for adapters, with DBT=1.10 or 1.11; DBT_TYPE=spark compares dbt-spark
	$(DBT_BIN)/python -m pytest dbt/tests -p no:cacheprovider

test-spark-versions: $(SPARKS:%=.venv/spark-%/installed) .venv/spark-$(COMET_SPARK)/installed check-java  ## print the table of Spark versions and features, each cell from a run
	@$(BIN)/python tests/spark_versions/measure.py $(foreach v,$(SPARKS),$(v)=$(CURDIR)/.venv/spark-$(v)/bin/python) \
	  $(COMET_SPARK)+comet-$(COMET)=$(COMET_PYTHON)

test-installed: $(STAMP) check-java  ## print the table of surfaces, hook, setting and Spark versions, each cell from a fresh environment
	@$(BIN)/python -m tests.installed --environments .venv/environments

test-features: $(STAMP) check-java  ## run a file of statements for each feature on each of SPARKS, as it is installed, also without Delta
	@$(BIN)/python -m tests.installed --features $(SPARKS:%=--spark %) --environments .venv/environments

test-lowest: .venv/lowest/installed  ## run the tests without Spark with the lowest versions of the libraries
	SQLEXT_RANDOM=few .venv/lowest/bin/python -m pytest -p no:cacheprovider -m "not spark and not slow" $(LOWEST)

test-cluster: $(WORKERS)/installed check-java  ## run statements, joins and a stream on a cluster of two workers that lack sqlext
	# A cluster of its own for each command: the session of pytest keeps every core, and a program would wait for one.
	SQLEXT_WORKER_PYTHON=$(CURDIR)/$(WORKERS)/bin/python $(BIN)/python -m tests.cluster.standalone \
	  $(BIN)/pytest tests/cluster/on_a_cluster.py
	SQLEXT_WORKER_PYTHON=$(CURDIR)/$(WORKERS)/bin/python $(BIN)/python -m tests.cluster.standalone \
	  $(BIN)/pytest tests/engine/joins/test_statements.py tests/statements/test_rows.py -k 'not -udtf- and not -portable-'

test-chaos: $(WORKERS)/installed check-java  ## kill 50 processes of a cluster at random; no row is lost or doubled
	chaos=$$(mktemp -d) && SQLEXT_WORKER_PYTHON=$(CURDIR)/$(WORKERS)/bin/python $(BIN)/python -m tests.cluster.standalone \
	  $(CURDIR)/$(BIN)/python -m tests.cluster.chaos $$chaos 50

test-comet: .venv/spark-$(COMET_SPARK)/installed check-java  ## compare rows with and without Apache DataFusion Comet, as a plugin of Spark 4.1
	$(WITH_COMET) $(COMET_PYTHON) -m pytest -p no:cacheprovider tests/comet/on_comet.py
	SQLEXT_WORKER_PYTHON=$(COMET_PYTHON) $(WITH_COMET) $(COMET_PYTHON) -m tests.cluster.standalone \
	  $(COMET_PYTHON) -m pytest -p no:cacheprovider tests/comet/on_comet.py -k 'stay_in and in_parquet'

test-iceberg: .venv/spark-$(ICEBERG_SPARK)/installed check-java  ## run all statements over Iceberg tables, and streams into them and refreshes whose driver is killed, on Spark 4.1
	$(WITH_ICEBERG) SQLEXT_SAMPLE=all $(ICEBERG_PYTHON) -m tests.iceberg.measure
	iceberg=$$(mktemp -d) && $(WITH_ICEBERG) $(ICEBERG_PYTHON) tests/engine/streams/killed.py $$iceberg/stream 20 \
	  && mkdir $$iceberg/view && $(WITH_ICEBERG) $(ICEBERG_PYTHON) tests/engine/materialized/killed.py $$iceberg/view 10 \
	  && $(WITH_ICEBERG) $(ICEBERG_PYTHON) -m tests.kafka.killed $$iceberg/topic 20 matches

test-soak: $(STAMP) check-java  ## run one streaming table of each kind for 1,000 micro-batches under random changes
	soak=$$(mktemp -d) && $(BIN)/python -m tests.engine.streams.soak $$soak 200

lint: $(STAMP)  ## run ruff and mypy, and check that imports only go down the layers; mypy takes half a minute the first time
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/bench check-java  ## measure all workloads in an hour and write benchmarks/RESULTS.md; PEERS=trino,flink,duckdb adds those
	$(BIN)/python -m benchmarks --growth --peers lead,pandas,spark$(addprefix $(COMMA),$(PEERS))
	$(BIN)/python -m benchmarks.plot

bench-quick: .venv/bench check-java  ## measure the same on few rows in some minutes, and write nothing
	$(BIN)/python -m benchmarks --quick --peers lead,pandas,spark$(addprefix $(COMMA),$(PEERS))

docs: $(STAMP)  ## build the documentation site into site/, without the network
	$(BIN)/python -m website.build

check-wheel: $(STAMP)  ## build wheel and sdist, install the wheel elsewhere, and import it
	$(BIN)/pytest tests/packaging

dist: $(STAMP) .venv/release/installed  ## build wheel and sdist twice, compare their bytes, and list their components (CycloneDX)
	rm -rf dist .venv/published
	$(BIN)/python -m tests.built_wheel dist
	$(UV) venv --quiet --python $(BIN)/python .venv/published
	$(UV) pip install --quiet --python .venv/published/bin/python $$(ls dist/*.whl)
	.venv/release/bin/cyclonedx-py environment --output-reproducible --output-format JSON \
	  --output-file $$(ls dist/*.whl | sed 's/-py3.*/.cdx.json/') .venv/published/bin/python

audit: dist  ## look for known vulnerabilities in what the wheel installs
	.venv/release/bin/pip-audit --strict --no-deps --disable-pip \
	  --requirement <($(UV) pip freeze --python .venv/published/bin/python | grep -v -E '^spark-sqlext')

lint-workflows: .venv/release/installed  ## lint .github by zizmor, and by actionlint where Go is installed
	.venv/release/bin/zizmor --offline .github
	command -v go >/dev/null && go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.7 || ! command -v go

address:  ## write another address of the repository wherever it is named, TO=https://…
	@[[ '$(TO)' =~ ^https://[^/]+/[^/]+/[^/]+$$ ]] || { echo "make address TO=https://HOST/OWNER/REPOSITORY"; exit 1; }
	git grep --name-only --fixed-strings '$(REPOSITORY)' | xargs sed -i.before -e 's|$(ADDRESS)|$(TO)|' \
	  -e 's|$(REPOSITORY)|$(call REPOSITORY_OF,$(TO))|'
	git ls-files --others '*.before' | xargs rm

clean:  ## remove the virtual environment and all caches
	rm -rf .venv build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(DEMO): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { \
	  echo "sqlext needs Python 3.10 or newer, $(PYTHON) is: $$($(PYTHON) --version 2>&1)"; \
	  echo "Hint: make PYTHON=/path/to/python3.11 …"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { \
	  echo "Hint: Debian and Ubuntu have it in a separate package: apt-get install python3-venv"; exit 1; }
	@echo "Installing sqlext, PySpark (430 MB) and the libraries of both into .venv, once; pip says what it does:"
	$(BIN)/python -m pip install --disable-pip-version-check -e '.[delta,shell]'
	@touch $@

$(STAMP): $(DEMO)
	@echo "Installing notebooks, linters and what tests need into .venv, once:"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --disable-pip-version-check -e '.[delta,shell,notebook]' --group dev
	@touch $@

$(DBT_STAMP): $(STAMP) dbt/pyproject.toml
	$(BIN)/python -m venv --without-pip .venv/dbt-$(DBT)
	$(BIN)/python -m pip --python $(DBT_BIN)/python install --quiet --disable-pip-version-check \
	  'dbt-core~=$(DBT).0' 'dbt-spark~=$(DBT).0' dbt-tests-adapter
	$(BIN)/python -m pip --python $(DBT_BIN)/python install --quiet --disable-pip-version-check --no-deps -e dbt
	$(DBT_BIN)/python -c 'import pathlib, site; print("$(CURDIR)", *pathlib.Path(".venv/lib").absolute().glob("*/site-packages"), \
	  sep="\n", file=open(site.getsitepackages()[0] + "/sqlext_libraries.pth", "w"))'
	@touch $@

# Another pyspark before the libraries of .venv. 400 MB each.
.venv/spark-%/installed: $(STAMP)
	$(BIN)/python -m venv --without-pip .venv/spark-$*
	$(BIN)/python -m pip --python .venv/spark-$*/bin/python install --quiet --disable-pip-version-check --ignore-installed \
	  --no-deps 'pyspark==$*.*'
	.venv/spark-$*/bin/python -c 'import pathlib, site; print("$(CURDIR)", *pathlib.Path(".venv/lib").absolute().glob("*/site-packages"), \
	  sep="\n", file=open(site.getsitepackages()[0] + "/sqlext_libraries.pth", "w"))'
	@touch $@

$(WORKERS)/installed: $(STAMP)
	$(BIN)/python -m venv --without-pip $(WORKERS)
	$(BIN)/python -m pip freeze --disable-pip-version-check | grep -E '^($(subst $() ,|,$(LIBRARIES)))==' \
	  | $(BIN)/python -m pip --python $(WORKERS)/bin/python install --quiet --disable-pip-version-check -r /dev/stdin
	@touch $@

$(AXE)/installed: $(STAMP)
	@mkdir -p $(AXE)
	@if command -v npm >/dev/null && npm install --silent --no-audit --no-fund --ignore-scripts --prefix $(AXE) axe-core@4.14.1; \
	then touch $@; else \
	  echo "axe-core is missing, which npm installs from its registry: pages are not tested for accessibility problems"; \
	  test -z "$$CI"; fi

.venv/release/installed: $(STAMP)
	$(BIN)/python -m venv --without-pip .venv/release
	$(BIN)/python -m pip --python .venv/release/bin/python install --quiet --disable-pip-version-check --group release
	@touch $@

.venv/lowest/installed: $(STAMP) .venv/release/installed
	$(UV) venv --quiet --clear --python $(BIN)/python .venv/lowest
	$(UV) pip compile --quiet --resolution lowest-direct --python $(BIN)/python pyproject.toml -o .venv/lowest/versions.txt
	$(UV) pip install --quiet --python .venv/lowest/bin/python -r .venv/lowest/versions.txt pytest hypothesis
	@touch $@

.venv/bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	@touch $@

check-java: $(DEMO)
	@$(BIN)/python -c 'import sys; from sqlext.sessions.start import java_problem; sys.exit(java_problem())'
