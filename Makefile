# Granary. `make help` lists what there is.
#
# One graph, no recursion. Objects go to build/<variant>/, one archive for common/, one binary per service.
#   make VARIANT=release|test|asan|tsan     (test, asan and tsan have the fault points)
#   make BUILD=/elsewhere                   builds there instead
#   make MODULES="base rows"                only these modules of common/ (while others are being written)

MAKEFLAGS += -rR --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
SHELL := /bin/bash

VARIANT ?= release
BUILD   ?= build/$(VARIANT)
CC      := $(if $(filter default undefined,$(origin CC)),gcc,$(CC))
AR      := ar
VERSION := 0.1.0
PYTHON  ?= /usr/bin/python3

WARNINGS := -Wall -Wextra -Wpedantic -Wno-gnu-statement-expression -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Wundef -Wformat=2 -Werror
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
else
$(error VARIANT is release, test, asan or tsan)
endif
# Hot loops of the partition format: fixed target, so that a binary built here runs on any x86-64-v2 machine.
CFLAGS   += $(if $(filter x86_64,$(shell uname -m)),-march=x86-64-v2)

LIBRARIES := -lrabbitmq -lpq -lmicrohttpd -lcurl -ljansson -lssl -lcrypto -lzstd -lz -lsnappy -llz4 -lxxhash -lm
PG_INCLUDE := $(firstword $(wildcard /usr/include/postgresql))
CPPFLAGS += $(if $(PG_INCLUDE),-isystem $(PG_INCLUDE))

# --- sources -----------------------------------------------------------------------------------------------------
MODULES     ?= $(notdir $(patsubst %/,%,$(wildcard common/*/)))
COMMON_C    := $(wildcard $(foreach m,$(MODULES),common/$(m)/*.c))
SERVICES    := $(notdir $(patsubst %/main.c,%,$(wildcard services/*/main.c)))
CLI_C       := $(wildcard cli/*.c)
UNIT_C      := $(foreach m,$(MODULES),$(wildcard tests/unit/$(m)/test_*.c)) $(wildcard tests/unit/services/*/test_*.c)
BENCH_C     := $(wildcard tests/bench/bench_*.c)

COMMON_O    := $(COMMON_C:%.c=$(BUILD)/obj/%.o)
LIBGRANARY  := $(BUILD)/libgranary.a
SERVICE_BIN := $(SERVICES:%=$(BUILD)/bin/granary-%)
CLI_BIN     := $(if $(CLI_C),$(BUILD)/bin/granary)
UNIT_BIN    := $(UNIT_C:tests/unit/%.c=$(BUILD)/unit/%)
BENCH_BIN   := $(BENCH_C:tests/bench/%.c=$(BUILD)/bench/%)

.PHONY: all
all: $(SERVICE_BIN) $(CLI_BIN) ## build every service and the command line

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(LIBGRANARY): $(COMMON_O)
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcsD $@ $(COMMON_O)

define service_rule
$(BUILD)/bin/granary-$(1): $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard services/$(1)/*.c)) $(LIBGRANARY)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(LDFLAGS) -o $$@ $$^ $$(LIBRARIES)
endef
$(foreach s,$(SERVICES),$(eval $(call service_rule,$(s))))

$(BUILD)/bin/granary: $(CLI_C:%.c=$(BUILD)/obj/%.o) $(LIBGRANARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBRARIES)

# A unit test of services/<name>/<file>.c links the objects of that service but its main.
service_of = $(patsubst tests/unit/services/%/,%,$(dir $(1)))
define unit_rule
$(BUILD)/unit/$(1): $(BUILD)/obj/tests/unit/$(1).o \
    $(if $(filter services/%,$(1)),$(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out %/main.c,$(wildcard $(dir $(1))*.c)))) $(LIBGRANARY)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(LDFLAGS) -o $$@ $$^ $$(LIBRARIES) -lcmocka
endef
$(foreach t,$(UNIT_C:tests/unit/%.c=%),$(eval $(call unit_rule,$(t))))

$(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o $(LIBGRANARY)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBRARIES) -ldl

Q := $(if $(V),,@)
-include $(shell test -d $(BUILD)/obj && find $(BUILD)/obj -name '*.d')

# --- tests -------------------------------------------------------------------------------------------------------
.PHONY: unit
unit: $(UNIT_BIN) ## unit tests (T=module/ runs only those)
	$(Q)tests/unit/run $(filter $(BUILD)/unit/$(T)%,$(UNIT_BIN))

.PHONY: help
help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'
