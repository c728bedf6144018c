# Two commands for everyone (demo, test) and what CI calls. All of them make and use .venv;
# PYTHON=... picks the interpreter it is made from.

PYTHON ?= python3
PYTEST_ARGS ?= -n 2 --dist worksteal

venv := .venv
bin := $(venv)/bin
install := $(bin)/python -m pip install --disable-pip-version-check -qq

EXPERIMENTS := figure2a figure2b figure2c figure3 figure3_reasons timing rivals noisy_or
STUDIES := hospital hospital_paper students students_paper nations cancer_paper cancer pathways trials

.PHONY: demo test lint types imports docs reproduce studies clean
.DELETE_ON_ERROR:

demo: $(venv)/.installed
	$(bin)/tensorm demo --out demo

test: $(venv)/.installed-dev
	MPLBACKEND=Agg $(bin)/python -m pytest $(PYTEST_ARGS)

lint: $(venv)/.installed-dev
	$(bin)/ruff check .
	$(bin)/ruff format --check .

types: $(venv)/.installed-dev
	$(bin)/mypy
	$(bin)/mypy --strict --cache-dir .mypy_cache/strict tests/typed_user.py

imports: $(venv)/.installed-dev
	$(bin)/lint-imports

# The pages in site/index.html; a link that leads nowhere is an error.
docs: $(venv)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(bin)/mkdocs build --strict --quiet

# The paper's experiments and the page that compares. By default a sample of each, in a few minutes, and a page in
# experiments/out/quick/pages; ARGS=--full makes the tables of docs/reproduction.md. Trials made once are kept.
reproduce: ARGS ?= --quick
reproduce: $(venv)/.installed-dev
	set -e; for name in $(EXPERIMENTS); do $(bin)/python -m experiments.$$name $(ARGS); done
	$(bin)/python -m experiments.page $(ARGS)

# The paper's studies on real data, and the gallery: TENSORM_DATA names the folder with the data. Fits made once are
# kept. The cancer study has 9.8 billion cells; ARGS=--quick makes small fits of all, in a few minutes.
studies: $(venv)/.installed-dev
	set -e; for name in $(STUDIES); do $(bin)/python -m experiments.$$name $(ARGS); done
	$(bin)/python -m experiments.page $(ARGS)

# The environment itself stays; so do the stamps of what is installed in it.
clean:
	find src tests benchmarks experiments -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
	rm -rf demo site build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .nox

# A stamp is older than pyproject.toml when the dependencies may have changed.
$(venv)/.installed: pyproject.toml | $(venv)/.made
	@echo "Installing tensorm into $(venv) (a minute or two, once)"
	@$(install) -e '.[plot]'
	@touch $@

$(venv)/.installed-dev: pyproject.toml | $(venv)/.made
	@echo "Installing tensorm and what its tests need into $(venv) (a minute or two, once)"
	@$(install) -e '.[dev,plot]'
	@touch $(venv)/.installed $@

$(venv)/.made:
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo "tensorm needs Python 3.11 or newer, and there is no '$(PYTHON)' here; name one with PYTHON=..."; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "tensorm needs Python 3.11 or newer, and '$(PYTHON)' is $$("$(PYTHON)" --version 2>&1); name a newer one with PYTHON=..."; exit 1; }
	@"$(PYTHON)" -m venv $(venv) || { \
	  echo "'$(PYTHON)' cannot make a virtual environment; install its venv module, or name another with PYTHON=..."; exit 1; }
	@touch $@
