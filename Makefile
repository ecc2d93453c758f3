# gpu-oci-hook. `make` alone prints this help; the texts after ## are its lines.
PREFIX ?= /usr/local
DESTDIR ?=
RUN_DIR ?= /run/gpu-oci-hook
# Development's own interpreter: PYTHON where one is named, else the first >= 3.9 that can make a virtual environment.
asked := $(filter-out undefined default,$(origin PYTHON))
DEVELOPMENT_PYTHON ?= $(if $(asked),$(PYTHON),$(shell sh tests/prerequisites.sh python))
# The interpreter that the installed programs run with: an absolute path, the distribution's own before others.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) $(shell command -v python3))
BUNDLE ?= yes
VENV ?= .venv
JOBS ?= 2
# Which tests, and pytest's own options: make test TESTS=tests/unit PYTEST_OPTIONS=-x
TESTS ?= tests
PYTEST_OPTIONS ?=

bin = $(PREFIX)/bin
lib = $(PREFIX)/lib/gpu-oci-hook
man8 = $(PREFIX)/share/man/man8
bash = $(PREFIX)/share/bash-completion/completions
zsh = $(PREFIX)/share/zsh/site-functions
units = $(PREFIX)/lib/systemd/system
fill = sed -e 's|@PYTHON@|$(PYTHON)|' -e 's|@LIB@|$(lib)|' -e 's|@RUN_DIR@|$(RUN_DIR)|'
tools = $(VENV)/bin
scripts = $(wildcard .ci/run bin/gpu-oci-runtime packaging/*.sh tests/*.sh demo/*.sh)

.PHONY: help venv prerequisites lint test demo bench install uninstall clean

help:  ## print this help
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

$(tools)/.complete: setup.cfg pyproject.toml
	@sh tests/prerequisites.sh venv '$(DEVELOPMENT_PYTHON)'
	'$(DEVELOPMENT_PYTHON)' -m venv '$(VENV)'
	'$(tools)/python' -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

venv: $(tools)/.complete  ## make .venv with all that development needs

prerequisites:
	@sh tests/prerequisites.sh lab '$(INSTALL)'

lint: venv  ## run ruff, mypy --strict, import-linter, shellcheck
	'$(tools)/ruff' check .
	'$(tools)/ruff' format --check .
	'$(tools)/mypy'
	'$(tools)/lint-imports'
	@if command -v shellcheck >/dev/null; then shellcheck -x $(scripts); \
	elif [ -n "$$CI" ]; then echo "shellcheck is missing: apt-get install shellcheck" >&2; exit 1; \
	else echo "shell scripts were not checked: apt-get install shellcheck" >&2; fi

# One pytest for all tests: its summary is the last line.
test: prerequisites lint  ## lint and test; as root also on a real systemd (INSTALL=yes installs what that needs)
	'$(tools)/python' -m pytest -q -n $(JOBS) $(PYTEST_OPTIONS) $(TESTS)

demo:  ## as root: a GPU lost by plain runc on the left, kept on the right
	@sh tests/prerequisites.sh demo || true
	@$(MAKE) --no-print-directory venv
	@'$(tools)/python' demo/run.py

bench: venv  ## as root: what we cost beside bare runc, into docs/ (QUICK=yes: under a minute, into bench/out)
	'$(tools)/python' -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	'$(tools)/python' -m bench $(if $(QUICK),--quick,--out docs)

install:  ## install below PREFIX=/usr/local (BUNDLE=no: with the distribution's own Python libraries)
	PYTHON='$(PYTHON)' BUNDLE='$(BUNDLE)' sh packaging/stage.sh '$(DESTDIR)$(lib)'
	install -d '$(DESTDIR)$(bin)'
	$(fill) bin/gpu-oci-runtime >'$(DESTDIR)$(bin)/gpu-oci-runtime'
	$(fill) bin/gpu-oci-hook >'$(DESTDIR)$(bin)/gpu-oci-hook'
	chmod 755 '$(DESTDIR)$(bin)/gpu-oci-runtime' '$(DESTDIR)$(bin)/gpu-oci-hook'
	install -d '$(DESTDIR)$(man8)' '$(DESTDIR)$(bash)' '$(DESTDIR)$(zsh)'
	install -m 644 man/gpu-oci-hook.8 man/gpu-oci-runtime.8 '$(DESTDIR)$(man8)'
	install -m 644 completions/gpu-oci-hook.bash '$(DESTDIR)$(bash)/gpu-oci-hook'
	install -m 644 completions/gpu-oci-hook.zsh '$(DESTDIR)$(zsh)/_gpu-oci-hook'
	install -d '$(DESTDIR)$(units)'
	for unit in $(notdir $(wildcard deploy/*.*)); do \
	  sed 's|/usr/local/bin/|$(bin)/|' "deploy/$$unit" >'$(DESTDIR)$(units)'/"$$unit"; done

uninstall:  ## take away all that install has put there
	rm -f '$(DESTDIR)$(bin)/gpu-oci-runtime' '$(DESTDIR)$(bin)/gpu-oci-hook'
	rm -rf '$(DESTDIR)$(lib)'
	rm -f '$(DESTDIR)$(man8)/gpu-oci-hook.8' '$(DESTDIR)$(man8)/gpu-oci-runtime.8'
	rm -f '$(DESTDIR)$(bash)/gpu-oci-hook' '$(DESTDIR)$(zsh)/_gpu-oci-hook'
	rm -f $(patsubst deploy/%,'$(DESTDIR)$(units)/%',$(wildcard deploy/*.*))

generate: venv  ## write the man page and the completions anew from the program's parser
	'$(tools)/python' packaging/generate.py

clean:  ## remove what the other targets made in this directory
	rm -rf '$(VENV)' build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache bench/out
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
