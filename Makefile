# gpu-oci-hook. `make` alone prints this help; the texts after ## are its lines.
PREFIX ?= /usr/local
DESTDIR ?=
RUN_DIR ?= /run/gpu-oci-hook
# The interpreter that the installed programs run with: an absolute path, the distribution's own before others.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) $(shell command -v python3))
BUNDLE ?= yes

bin = $(PREFIX)/bin
lib = $(PREFIX)/lib/gpu-oci-hook
fill = sed -e 's|@PYTHON@|$(PYTHON)|' -e 's|@LIB@|$(lib)|' -e 's|@RUN_DIR@|$(RUN_DIR)|'

.PHONY: help install uninstall

help:  ## print this help
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

install:  ## install below PREFIX=/usr/local (BUNDLE=no: with the distribution's own Python libraries)
	PYTHON='$(PYTHON)' BUNDLE='$(BUNDLE)' sh packaging/stage.sh '$(DESTDIR)$(lib)'
	install -d '$(DESTDIR)$(bin)'
	$(fill) bin/gpu-oci-runtime >'$(DESTDIR)$(bin)/gpu-oci-runtime'
	$(fill) bin/gpu-oci-hook >'$(DESTDIR)$(bin)/gpu-oci-hook'
	chmod 755 '$(DESTDIR)$(bin)/gpu-oci-runtime' '$(DESTDIR)$(bin)/gpu-oci-hook'

uninstall:  ## take away all that install has put there
	rm -f '$(DESTDIR)$(bin)/gpu-oci-runtime' '$(DESTDIR)$(bin)/gpu-oci-hook'
	rm -rf '$(DESTDIR)$(lib)'
