# Each target sets up what it needs in .venv; `make demo` and `make test` work from a fresh clone with Python 3.11 alone.
# Paths are relative throughout, so that a checkout in a folder with spaces and accents works too.

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
PY := .venv/bin/python
PIP := $(PY) -m pip install --quiet --disable-pip-version-check
MOMENTS ?= 200
MINUTES ?= 20
BROKEN := operation-id ack-before-commit ttl-on-unaudited skipped-change mistaken-tenant
# What is held to an older PostgreSQL besides: what its SQL does, and neither what waits for time to pass nor other stores.
OLDER := $(addprefix tests/contract/,write_path consolidation test_context_layer.py test_finding.py test_immutable_rows.py \
	test_knowledge_facts.py test_knowledge_graph.py test_leaks_library.py test_recall_hits.py test_words.py)
NOT_OLDER := not (pinecone or langchain or neo4j or cluster or sentinel or test_pressure or test_schedule \
	or test_beside_others or whatever_is_folded or any_text_may_be_asked)
NAMES ?= $(sort $(basename $(notdir $(wildcard benchmarks/[a-z]*.py))))

.PHONY: demo test check bench faults soak package lock clean help
.DEFAULT_GOAL := help

help:
	@echo "make demo    review four agreements with ten parallel agents, twice, on embedded servers"
	@echo "make test    every test, on real servers"
	@echo "make check   style, types, architecture"
	@echo "make bench   every benchmark (NAMES=\"board recall\" for some)"
	@echo "make faults  the tests that kill things, 200 more kills under load, and builds that are broken on purpose"
	@echo "make soak    twenty minutes of full load (MINUTES=5), and what grew meanwhile"
	@echo "make package a wheel, installed elsewhere and tried"

.venv/.venv-made:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer was not found: install it, or say make PYTHON=/path/to/python"; exit 2; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is too old: Lousa needs Python 3.11 or newer (make PYTHON=...)"; exit 2; }
	@"$(PYTHON)" -m venv .venv || { echo "the venv module is missing: on Debian and Ubuntu, apt install python3-venv"; exit 2; }
	@touch $@

.venv/.run-ready: .venv/.venv-made pyproject.toml constraints.txt
	@echo "setting up .venv (once) ..."
	@$(PIP) --constraint constraints.txt --editable .
	@touch $@

.venv/.dev-ready: .venv/.run-ready
	@$(PIP) --constraint constraints.txt --editable ".[dev]"
	@touch $@

demo: .venv/.run-ready
	@$(PY) -m lousa demo

# Two processes at least, each with servers of its own: many tests wait for time to pass.
test: .venv/.dev-ready
	@echo "on PostgreSQL 16, and through a PgBouncer where there is one:"
	@LOUSA_TEST_POSTGRES=16 LOUSA_TEST_POOLER=auto $(PY) -m pytest --numprocesses=2 --dist=loadfile -k "$(NOT_OLDER)" $(OLDER)
	@echo "on the embedded servers, all:"
	@$(PY) -m pytest --numprocesses=2 --dist=loadfile --ignore=tests/faults/campaign/test_broken_builds.py \
		--ignore=tests/faults/test_rebuild_killed.py

check: .venv/.dev-ready
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m basedpyright
	@$(PY) -m pytest tests/architecture

# What it compares with is not installed for it: `.venv/bin/pip install -c constraints.txt -e ".[bench]"` brings that.
bench: .venv/.dev-ready
	@set -e; for name in $(NAMES); do echo "== $$name"; $(PY) benchmarks/$$name.py; done

# What the campaign does and counts: docs/faults.md.
faults: .venv/.dev-ready
	@$(PY) -m pytest tests/faults --ignore=tests/faults/campaign
	@$(PY) tests/faults/campaign --moments $(MOMENTS)
	@for name in $(BROKEN); do $(PY) tests/faults/campaign --moments 10 --broken $$name; \
		test $$? -eq 1 || { echo "a build that is broken by $$name was not found"; exit 1; }; done
	@$(PY) tests/faults/linearizability --histories 200
	@$(PY) tests/faults/updates.py
	@$(PY) tests/faults/stores_away.py

soak: .venv/.dev-ready
	@$(PY) tests/faults/soak --minutes $(MINUTES)

# What `pip install lousa && lousa demo` does, from a wheel of this checkout and with nothing of it on the path.
package: .venv/.dev-ready
	@rm -rf build dist
	@$(PY) -m pip wheel --quiet --no-deps --wheel-dir dist .
	@"$(PYTHON)" -m venv build/elsewhere
	@build/elsewhere/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt dist/*.whl
	@cd build/elsewhere && bin/lousa demo --json > demo.json && echo "lousa demo works from $$(cd ../.. && ls dist/*.whl)"

lock: .venv/.dev-ready
	@$(PIP) --constraint constraints.txt --editable ".[bench]"
	@$(PY) -m pip freeze --exclude-editable | LC_ALL=C sort -f > constraints.txt

clean:
	rm -rf .venv build dist *.egg-info
