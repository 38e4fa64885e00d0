.DEFAULT_GOAL := help
PYTHON ?= python3.11
RUN := .venv/bin/python

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

.venv/installed: requirements-dev.txt
	test -x .venv/bin/python || $(PYTHON) -m venv .venv
	$(RUN) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	touch $@

install: .venv/installed  ## create .venv with everything pinned

chat: install  ## talk to it in the terminal
	@$(RUN) -m app chat

demo: install  ## watch a conversation that shows what it can do
	@$(RUN) -m app demo

setup: install  ## connect a language model
	@$(RUN) -m app setup

test: install  ## run every test
	$(RUN) -m pytest

check: install  ## format, lint, types, layers, tests
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy
	.venv/bin/lint-imports
	$(RUN) -m pytest

lock: install  ## pin the dependencies anew
	$(RUN) -m uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate pyproject.toml -o requirements.txt
	$(RUN) -m uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate pyproject.toml --extra mcp -o requirements-mcp.txt
	$(RUN) -m uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate pyproject.toml --group dev -o requirements-dev.txt
	$(RUN) -m uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate pyproject.toml --group bench -o requirements-bench.txt

.venv-bench/installed: requirements-bench.txt
	test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-bench.txt
	touch $@

bench: .venv-bench/installed  ## measure wait, growth and the peers; write docs/benchmarks.md
	.venv-bench/bin/python -m benchmarks.wait
	.venv-bench/bin/python -m benchmarks.growth
	.venv-bench/bin/python -m benchmarks.peers --publish

.PHONY: help install chat demo setup test check lock bench
