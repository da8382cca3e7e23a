# SPDX-License-Identifier: GPL-2.0-only
#
# Entry points; the work is done by scripts/ and by nocma (tools/nocma).

BUILD := build/harness
NOCMA := $(BUILD)/tools/nocma/nocma
TARGET := v6.12
PREFIX := /usr/local

.PHONY: help
help:
	@echo 'Main targets:'
	@echo '  demo       build a patched $(TARGET) kernel, boot it with TTM passing __GFP_NOCMA'
	@echo '             and not passing it, compare; 9 minutes on two cores, repeated 2'
	@echo '  check      lint, unit tests, script tests, series, guest: all that fits CI'
	@echo '  check-all  the same for every kernel and configuration; TREE= the source of v4.15'
	@echo 'Single steps:'
	@echo '  harness    build $(NOCMA)'
	@echo '  lint       shellcheck, clang-format, clang-tidy, SPDX lines'
	@echo '  results    measure what Documentation/gpu/ttm-nocma-results.rst states, again'
	@echo '  install    put nocma, manual pages, completion below PREFIX=$(PREFIX); DESTDIR= works'
	@echo '  uninstall  remove what install put there'
	@echo '  clean      remove build/ (the cache with kernels and downloads stays)'
	@echo
	@echo 'scripts/kernel --help and $(NOCMA) --help list the rest.'

.PHONY: demo
demo:
	scripts/setup demo
	+scripts/demo $(TARGET)

.PHONY: check check-all
check check-all:
	scripts/setup $@
	+scripts/check $(if $(filter check-all,$@),--all $(if $(TREE),--tree '$(TREE)'))

.PHONY: lint
lint:
	scripts/setup check
	scripts/lint

.PHONY: harness
harness:
	scripts/setup harness
	scripts/harness

.PHONY: results
results:
	scripts/setup demo
	scripts/harness
	scripts/kernel build $(TARGET)
	scripts/results $(TARGET)

.PHONY: install uninstall
install: harness
	scripts/setup install
	scripts/install --prefix '$(PREFIX)' --destdir '$(DESTDIR)'
uninstall:
	scripts/install --uninstall --prefix '$(PREFIX)' --destdir '$(DESTDIR)'

.PHONY: clean
clean:
	rm -rf build
