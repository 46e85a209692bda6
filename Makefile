# `make demo` and `make test` need only Python and make: each makes .venv and installs what it needs into it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SCALE := .cache/scale
COMPILED := .cache/compiled
COMPILED_TESTS := $(addprefix tests/, analysis linting syntax test_fixtures.py test_mdtest.py test_rule_examples.py)
# Processes of `gpulint check` in `make lint`.
JOBS := auto

# Hundreds of tests start Python anew: without byte code each would compile all that it imports.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo dev test compiled scale lint docs vscode bench mutants clean

demo: $(VENV)/demo
	@$(BIN)/gpulint check --isolated --exit-zero fixtures/placement/weighted_classifier.py

dev: $(VENV)/dev

test: $(VENV)/test
	$(BIN)/python -m pytest --numprocesses 3 --dist worksteal -m "not long"

# The tests of the analysis on a compiled wheel: beside them is no folder gpulint, which they would import instead.
compiled: $(COMPILED)/installed
	rm -rf $(COMPILED)/tests && mkdir $(COMPILED)/tests
	cp -R fixtures pyproject.toml tests $(COMPILED)/tests
	cd $(COMPILED)/tests && ../bin/python -m pytest --quiet --numprocesses 2 --dist worksteal -m "not long and not tensorflow" $(COMPILED_TESTS)

scale: $(SCALE)/installed
	$(SCALE)/bin/python -m pytest -m scale tests/test_scale.py

# mypy, which reads installed packages, comes last: `.ci/run` installs TensorFlow meanwhile.
lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/gpulint check --jobs $(JOBS) .
	$(BIN)/mypy

docs: $(VENV)/docs
	$(BIN)/python -m scripts.pages build/pages
	$(BIN)/zensical build --strict --clean

# The extension for VS Code: type-checked, bundled and packed. Needs Node.js.
vscode: editors/vscode/gpulint.vsix

editors/vscode/gpulint.vsix: editors/vscode/node_modules $(wildcard editors/vscode/*.json editors/vscode/src/*.ts)
	cd editors/vscode && npm run package

editors/vscode/node_modules: editors/vscode/package-lock.json
	cd editors/vscode && npm ci --no-audit --no-fund
	@touch $@

bench: $(VENV)/dev
	$(BIN)/python benchmarks/check.py gpulint

# The places that `make mutants` changes.
COUNT := 100
SEED := 1

mutants: $(VENV)/test
	$(BIN)/python -m scripts.mutants --count $(COUNT) --seed $(SEED)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/docs: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	@touch $@

$(VENV)/dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

$(VENV)/test: $(VENV)/dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "tensorflow-cpu>=2.16; platform_machine == 'x86_64'" "tensorflow>=2.16; platform_machine != 'x86_64'"
	@touch $@

# Compiled by mypyc in an environment of its own, some ten minutes of one core.
$(COMPILED)/installed: pyproject.toml setup.py $(shell find gpulint rules -name "*.py")
	rm -rf $(COMPILED) && $(PYTHON) -m venv $(COMPILED)
	GPULINT_COMPILE=1 $(COMPILED)/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir $(COMPILED)/wheels .
	$(COMPILED)/bin/python -m pip install --quiet --disable-pip-version-check $(COMPILED)/wheels/*.whl "filelock>=3.12" "hypothesis>=6.100" "hypothesmith>=0.3" "pytest>=8" "pytest-xdist>=3.5"
	$(COMPILED)/bin/gpulint version --output-format json | grep '"compiled": true'
	@touch $@

# Ray and Spark, in an environment of their own: TensorFlow's would have to share their dependencies.
$(SCALE)/installed: pyproject.toml
	$(PYTHON) -m venv $(SCALE)
	$(SCALE)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[scale]" "hypothesis>=6.100" "pytest>=8"
	@touch $@

clean:
	rm -rf $(VENV) .cache build *.egg-info
