# Needs make and Python 3.11 or newer. Every target installs what it needs.

PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
BIN := .venv/bin
READY := .venv/.ready
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
CODE := src tests benchmarks examples docs .ci conftest.py README.md CONTRIBUTING.md

# `make bench` runs on small samples. For your own datasets: python -m benchmarks.quality --help
BENCHMARKS := $(patsubst benchmarks/%.py,%,$(filter-out benchmarks/__init__.py,$(wildcard benchmarks/*.py)))

.DEFAULT_GOAL := help
.PHONY: help setup demo fix check test coverage bench golden docs

help: ## List the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

setup: $(READY) ## Create .venv with exactly the files of requirements.lock

$(READY): pyproject.toml requirements.lock
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer was not found; name one: make PYTHON=/path/to/python3"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) --no-deps --only-binary :all: --require-hashes --requirement requirements.lock
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY) ## Ask three questions about the Python language reference
	$(BIN)/python examples/python_reference.py

fix: $(READY) ## Format the code and apply automatic fixes
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

check: $(READY) ## Check style, types, layers and file sizes
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python .ci/check_files.py

test: $(READY) ## Run all tests, including slow ones
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

coverage: $(READY) ## Run all tests and list the lines that none of them runs
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder --cov --cov-report=term:skip-covered

bench: $(READY) ## Run every benchmark on small samples
	@set -e; for script in $(BENCHMARKS); do \
		echo "== $$script"; $(BIN)/python -m benchmarks.$$script --smoke; done

golden: $(READY) ## Rewrite the golden files; review the difference
	$(BIN)/python -m pytest tests/golden --golden-rewrite

docs: $(READY) ## Regenerate the reference pages and pictures, and build the site
	$(BIN)/python -m docs.generate
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
