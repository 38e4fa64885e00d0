.DEFAULT_GOAL := help
PYTHON ?= python3.11
RUN := .venv/bin/python
# A worker more than cores: some tests only wait. Each worker loads every test for itself.
PYTEST_WORKERS = $(shell $(RUN) -c "import os; print(os.cpu_count() + 1)")
PYTEST = $(RUN) -m pytest --numprocesses $(PYTEST_WORKERS) --dist worksteal
# Many tests start processes; each would compile the application anew.
unexport PYTHONDONTWRITEBYTECODE
CORE := agents/conversation/*,agents/nodes/*,app/assistant/*,agents/graph.py

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

.venv/runs: requirements.txt
	test -x .venv/bin/python || $(PYTHON) -m venv .venv
	@echo "Installing what a chat needs into .venv."
	$(RUN) .ci/install.py $<
	touch $@

.venv/installed: requirements-dev.txt
	test -x .venv/bin/python || $(PYTHON) -m venv .venv
	@echo "Installing what is pinned into .venv."
	$(RUN) .ci/install.py $<
	touch .venv/runs $@

install: .venv/installed  ## create .venv with everything pinned

chat: .venv/runs  ## talk to it in the terminal
	@$(RUN) -m app chat

demo: .venv/runs  ## watch a conversation that shows what it can do
	@$(RUN) -m app demo

setup: .venv/runs  ## connect a language model
	@$(RUN) -m app setup

test: install  ## run every test that is not slow
	$(PYTEST) -m "not slow" $(ARGS)

# Slow tests start processes of their own.
test-slow: install  ## run the slow tests: processes, kills, real waits
	$(PYTEST) -m slow $(ARGS)

test-all: test test-slow  ## run every test

quick: install  ## format, lint, types, and the tests of the files that you changed
	$(RUN) -m ruff format .
	$(RUN) -m ruff check --fix .
	$(RUN) -m mypy
	$(RUN) -m tests.support.changed_tests | xargs -r $(RUN) -m pytest -m "not slow" --failed-first $(ARGS)

lint: install  ## format, lint, types, layers
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy
	.venv/bin/lint-imports

check: lint  ## everything a change must pass: lint, and the tests of `make test` with their coverage
	$(PYTEST) -m "not slow" --cov --cov-report= $(ARGS)
	$(RUN) -m coverage report --skip-covered | tail -1
	$(RUN) -m coverage report --include="$(CORE)" --skip-covered --show-missing
	$(RUN) -m coverage json --quiet --include="$(CORE)" -o - | $(RUN) -m tests.support.core_branches

own: install  ## lint, types and tests of your own folders, those of EXTENSIONS
	$(RUN) -m tests.support.own_folders

pictures: install  ## take the pictures of docs/ anew, in a browser
	SCREENS=docs $(RUN) -m pytest -q -m slow -n 2 -k "not slow_machine and not typing" tests/plugins/page tests/plugins/lab/pages tests/plugins/seat/test_browser.py

reference: install  ## write docs/reference.md from docstrings, slash commands, prompts and events
	$(RUN) -m tests.support.reference

size: install  ## count the non-blank lines of the product, room by room
	@$(RUN) -m tests.support.size

lock: install  ## pin the dependencies anew
	$(RUN) -m uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate pyproject.toml -o requirements.txt
	$(RUN) -m uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate pyproject.toml --extra mcp -o requirements-mcp.txt
	$(RUN) -m uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate pyproject.toml --extra a2a -o requirements-a2a.txt
	$(RUN) -m uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate pyproject.toml --extra otel -o requirements-otel.txt
	$(RUN) -m uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate pyproject.toml --extra postgres -o requirements-postgres.txt
	$(RUN) -m uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate pyproject.toml --extra sqlcipher -o requirements-sqlcipher.txt
	$(RUN) -m uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate pyproject.toml --group dev -o requirements-dev.txt
	$(RUN) -m uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate pyproject.toml --group bench -o requirements-bench.txt

.venv-bench/installed: requirements-bench.txt
	test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python .ci/install.py $<
	touch $@

bench: .venv-bench/installed  ## measure wait, growth and the peers; write docs/benchmarks.md
	.venv-bench/bin/python -m benchmarks.wait
	.venv-bench/bin/python -m benchmarks.growth
	.venv-bench/bin/python -m benchmarks.peers --publish

bench-workers: .venv-bench/installed  ## measure workers on PostgreSQL beside LangGraph, and 20,000 turns
	.venv-bench/bin/python -m benchmarks.workers
	.venv-bench/bin/python -m benchmarks.endurance

bench-pair: install  ## compare the CPU per turn with another checkout (OTHER=DIR)
	$(RUN) -m benchmarks.pair --other $(OTHER)

.PHONY: help install chat demo setup test test-slow test-all quick lint check own pictures reference size lock bench bench-workers bench-pair
