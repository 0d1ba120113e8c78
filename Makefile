# Granary. `make help` lists what there is.
#
# One graph, no recursion. Objects go to build/<variant>/, one archive for common/, one binary per service.
#   make VARIANT=release|test|asan|tsan     (all but release have the fault points; goals that test default to test)
#   make BUILD=/elsewhere                   builds there instead
#   make MODULES="base rows"                only these modules of common/ (while others are being written)

MAKEFLAGS += -rR --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all
SHELL := /bin/bash

TEST_GOALS := check test unit integration crash deploy-check
VARIANT ?= $(if $(filter fuzz,$(MAKECMDGOALS)),fuzz,$(if $(filter $(TEST_GOALS),$(MAKECMDGOALS)),test,release))
BUILD   ?= build/$(VARIANT)
CC      := $(if $(filter default undefined,$(origin CC)),$(if $(filter fuzz,$(VARIANT)),clang,gcc),$(CC))
AR      := ar
VERSION := 0.1.0
PYTHON  ?= /usr/bin/python3
prefix  ?= /usr/local
STACK   := deploy/local/stack

WARNINGS := -Wall -Wextra -Wpedantic -Wno-gnu-statement-expression -Wno-gnu-zero-variadic-macro-arguments -Wshadow \
            -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Wundef -Wformat=2 \
            -Werror
ifeq ($(CC),gcc)
WARNINGS += -Wno-pedantic -Wjump-misses-init -Wlogical-op
endif
CPPFLAGS := -I. -D_GNU_SOURCE -DGRANARY_VERSION='"$(VERSION)"' -MMD -MP
CFLAGS   := -std=gnu11 -g -fno-strict-aliasing -fvisibility=default -pthread $(WARNINGS)
LDFLAGS  := -pthread
ifeq ($(VARIANT),release)
CFLAGS   += -O2 -fstack-protector-strong -fPIE
CPPFLAGS += -D_FORTIFY_SOURCE=2
LDFLAGS  += -pie -Wl,-z,relro,-z,now
else ifeq ($(VARIANT),test)
CFLAGS   += -O2
CPPFLAGS += -DGRANARY_FAULTS
else ifeq ($(VARIANT),asan)
CFLAGS   += -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
CPPFLAGS += -DGRANARY_FAULTS
LDFLAGS  += -fsanitize=address,undefined
else ifeq ($(VARIANT),tsan)
CFLAGS   += -O1 -fno-omit-frame-pointer -fsanitize=thread
CPPFLAGS += -DGRANARY_FAULTS
LDFLAGS  += -fsanitize=thread
else ifeq ($(VARIANT),fuzz)
CPPFLAGS += -DGRANARY_FAULTS -DPARQUET_FUZZ_NO_CRC
CFLAGS   += -O1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
LDFLAGS  += -fsanitize=fuzzer,address,undefined
else
$(error expected VARIANT to be release, test, asan, tsan or fuzz but found "$(VARIANT)")
endif
# Hot loops of the partition format: fixed target, so that a binary built here runs on any x86-64-v2 machine.
CFLAGS   += $(if $(filter x86_64,$(shell uname -m)),-march=x86-64-v2)

LIBRARIES := -lrabbitmq -lpq -lmicrohttpd -lcurl -ljansson -lexpat -lssl -lcrypto -lzstd -lz -lsnappy -llz4 -lxxhash -lm
PG_INCLUDE := $(firstword $(wildcard /usr/include/postgresql))
CPPFLAGS += $(if $(PG_INCLUDE),-isystem $(PG_INCLUDE))

# --- sources -----------------------------------------------------------------------------------------------------
MODULES     ?= $(notdir $(patsubst %/,%,$(wildcard common/*/)))
COMMON_C    := $(wildcard $(foreach m,$(MODULES),common/$(m)/*.c))
SERVICES    := $(notdir $(patsubst %/main.c,%,$(wildcard services/*/main.c)))
CLI_C       := $(wildcard cli/*.c)
UNIT_C      := $(wildcard $(foreach m,$(MODULES) services/* cli,tests/unit/$(m)/test_*.c))
LIVE_C      := $(wildcard tests/integration/*/*_live.c)
TOOL_C      := $(wildcard tests/integration/tools/*.c)
BENCH_C     := $(wildcard tests/bench/bench_*.c)
FUZZ_C      := $(wildcard tests/fuzz/fuzz_*.c)
ALL_C       := $(wildcard common/*/*.[ch] services/*/*.[ch] services/*/*/*.[ch] cli/*.[ch] \
                 tests/unit/*/*.[ch] tests/unit/*/*/*.[ch] tests/integration/*/*.[ch] tests/bench/*.[ch] tests/fuzz/*.[ch])

COMMON_O    := $(COMMON_C:%.c=$(BUILD)/obj/%.o) $(if $(filter catalog,$(MODULES)),$(BUILD)/obj/gen/migrations.o)
LIBGRANARY  := $(BUILD)/libgranary.a
SERVICE_BIN := $(sort $(SERVICES:%=$(BUILD)/bin/granary-%))
CLI_BIN     := $(if $(CLI_C),$(BUILD)/bin/granary)
UNIT_BIN    := $(UNIT_C:tests/unit/%.c=$(BUILD)/unit/%)
LIVE_BIN    := $(LIVE_C:tests/integration/%.c=$(BUILD)/live/%)
TOOL_BIN    := $(TOOL_C:tests/integration/tools/%.c=$(BUILD)/tools/%)
BENCH_BIN   := $(BENCH_C:tests/bench/%.c=$(BUILD)/bench/%)
FUZZ_BIN    := $(FUZZ_C:tests/fuzz/%.c=$(BUILD)/fuzz/%)

Q := $(if $(V),,@)

.PHONY: all
all: $(SERVICE_BIN) $(CLI_BIN) ## build every service and the command line

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

# What the assembler takes in, no compiler reports.
$(BUILD)/obj/services/admin/openapi.o: services/admin/openapi.json

# The migrations, carried by the binaries.
MIGRATIONS := $(sort $(wildcard migrations/*.sql))
$(BUILD)/gen/migrations.c: migrations/embed $(MIGRATIONS)
	@mkdir -p $(@D)
	$(Q)migrations/embed $(MIGRATIONS) >$@
$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(LIBGRANARY): $(COMMON_O)
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcsD $@ $(COMMON_O)

# The objects of a folder but its main, so that tests can link them. Empty for folders that are not there.
objects_of = $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out %/main.c,$(wildcard $(1)/*.c $(1)/*/*.c)))

define program_rule
$(BUILD)/bin/$(1): $(BUILD)/obj/$(2)/main.o $(call objects_of,$(2)) $(LIBGRANARY)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(LDFLAGS) -o $$@ $$^ $$(LIBRARIES)
endef
$(foreach s,$(SERVICES),$(eval $(call program_rule,granary-$(s),services/$(s))))
$(eval $(call program_rule,granary,cli))

# tests/unit/services/<name>/ and tests/unit/cli/ test what is in services/<name>/ and cli/. What several tests of a folder
# share stands beside them in files without test_.
define unit_rule
$(BUILD)/unit/$(1): $(BUILD)/obj/tests/unit/$(1).o $(call objects_of,$(patsubst %/,%,$(dir $(1)))) \
    $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out tests/unit/$(dir $(1))test_%,$(wildcard tests/unit/$(dir $(1))*.c))) \
    $(LIBGRANARY)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(LDFLAGS) -o $$@ $$^ $$(LIBRARIES) -lcmocka
endef
$(foreach t,$(UNIT_C:tests/unit/%.c=%),$(eval $(call unit_rule,$(t))))

# Tests in C against a real server: <area>/<what>_live.c, with the other files of their folder.
define live_rule
$(BUILD)/live/$(1): $(BUILD)/obj/tests/integration/$(1).o \
    $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out %_live.c,$(wildcard tests/integration/$(dir $(1))*.c))) $(LIBGRANARY)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(LDFLAGS) -o $$@ $$^ $$(LIBRARIES) -lcmocka
endef
$(foreach t,$(LIVE_C:tests/integration/%.c=%),$(eval $(call live_rule,$(t))))

# What tests in Python need from the inside.
$(BUILD)/tools/%: $(BUILD)/obj/tests/integration/tools/%.o $(LIBGRANARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBRARIES)

$(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o $(LIBGRANARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBRARIES) -ldl

$(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(LIBGRANARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBRARIES)

-include $(shell test -d $(BUILD)/obj && find $(BUILD)/obj -name '*.d')

# --- the two commands: set-up included, on a bare machine -----------------------------------------------------------
# They call make again because what bootstrap installs must be there before the graph above is worked out.
.PHONY: quickstart check
CPUS := $(shell nproc)
quickstart: ## watch rows live and die, on a stack of your own (STORE=s3: on a private radosgw)
	$(Q)deploy/local/bootstrap
	$(Q)$(MAKE) -j$(CPUS) VARIANT=release all
	$(Q)deploy/local/quickstart

CRASH_CASES ?= $(if $(filter check,$(MAKECMDGOALS)),60,0)
SUITES ?= lint unit integration crash
check: ## build and run every test; ends with "N passed, 0 failed"
	$(Q)deploy/local/bootstrap
	$(Q)$(if $(filter test,$(VARIANT)),$(MAKE) -j$(CPUS) VARIANT=release all)
	$(Q)$(PYTHON) tests/check $(foreach s,$(SUITES),$(s):"$(MAKE) -j$(CPUS) VARIANT=$(VARIANT) CRASH_CASES=$(CRASH_CASES) $(s)")

# --- the local stack -----------------------------------------------------------------------------------------------
.PHONY: up down status logs
up: all ## start the local stack (JOBS=0: without the scheduled jobs)
	$(Q)$(STACK) up $(if $(filter 0,$(JOBS)),--no-jobs)
down: ## end what up started
	$(Q)$(STACK) down
status: ## list the processes of the local stack
	$(Q)$(STACK) status
logs: ## follow the logs of the local stack
	$(Q)$(STACK) logs

# --- tests -------------------------------------------------------------------------------------------------------
.PHONY: test unit integration crash deploy-check bench fuzz
test: unit integration ## unit and integration tests

unit: $(UNIT_BIN) ## unit tests (T=module/ runs only those)
	$(Q)tests/unit/run $(filter $(BUILD)/unit/$(T)%,$(UNIT_BIN))

# T=expression picks tests by name, as pytest's -k does. WORKERS=2 is how many run side by side.
PYTEST = TEST_BUILD=$(BUILD) PYTHONDONTWRITEBYTECODE=1 \
    $(PYTHON) -m pytest -q -p no:cacheprovider -c tests/integration/pytest.ini --basetemp=$(BUILD)/pytest \
    -n $(or $(WORKERS),2) --dist loadgroup $(if $(T),-k "$(T)")
integration: all $(LIVE_BIN) $(TOOL_BIN) ## the built binaries on real servers (T=expression)
	$(Q)$(PYTEST) -m "not crash" tests/integration

crash: all $(TOOL_BIN) ## kill at every fault point (CRASH_CASES=60 for that many at most)
	$(Q)CRASH_CASES=$(CRASH_CASES) $(PYTEST) -m crash tests/integration

deploy-check: all ## what deploy/ renders, held against Kubernetes and the programs (npm)
	$(Q)BUILD=$(BUILD) PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/deploy/check

bench: all $(BENCH_BIN) $(TOOL_BIN) ## measure against peers; one line each (T="merge decay" for only these)
	$(Q)BUILD=$(BUILD) PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/bench/run $(T)

FUZZ_SECONDS ?= 60
fuzz: $(FUZZ_BIN) ## libFuzzer on each target (FUZZ_SECONDS=60, needs clang)
	$(Q)set -e; for program in $(FUZZ_BIN); do \
	    mkdir -p $(BUILD)/corpus/$${program##*/}; \
	    $$program -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=2048 $(BUILD)/corpus/$${program##*/} \
	        $$(ls -d tests/fuzz/corpus/$${program##*/} 2>/dev/null); done

# --- the sources themselves ----------------------------------------------------------------------------------------
.PHONY: lint format tidy docs-config
lint: $(COMMON_O) ## layers, symbols, guards, format
	$(Q)$(PYTHON) tests/lint/lint --objects $(BUILD)/obj

format: ## clang-format over all C
	$(Q)clang-format -i $(ALL_C)

tidy: ## clang-tidy over all C (minutes)
	$(Q)printf '%s\n' $(filter %.c,$(ALL_C)) | xargs -P 2 -n 4 sh -c 'clang-tidy --quiet "$$@" -- $(CPPFLAGS) -std=gnu11' sh

docs-config: all ## generate docs/configuration.md from the settings tables
	$(Q)docs/generate-configuration $(SERVICE_BIN) >docs/configuration.md

# --- the rest ------------------------------------------------------------------------------------------------------
.PHONY: install clean help
install: all ## into DESTDIR$(prefix)
	install -d $(DESTDIR)$(prefix)/bin
	install $(SERVICE_BIN) $(CLI_BIN) $(DESTDIR)$(prefix)/bin

clean: ## remove build/ (the stack's data stay: see "deploy/local/stack reset")
	rm -rf build

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'
