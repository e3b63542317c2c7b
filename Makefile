# The front door of the build: every command that a person or a machine runs here is a target below.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

JOBS := $(shell nproc)
PYTHON := /usr/bin/python3
RELEASE := build/release
FUZZ_SECONDS ?= 60
MINUTES ?= 30
ROUNDS ?= 20
PODS ?= 2000
FRESH ?= 60
CXX_FILES = find $(wildcard src tests bench fuzz) -name '*.h' -o -name '*.cc'

# $(call compile,<preset>[,<option>]): configures and builds one preset.
define compile
	@echo "== $(1): build"
	@cmake --preset $(1) --log-level=WARNING $(2) >/dev/null
	@cmake --build --preset $(1) -j $(JOBS)
endef

# $(call check,<preset>): runs the tests of one preset, which is built already.
define check
	@echo "== $(1): test"
	@ctest --preset $(1) -j $(JOBS)
endef

.PHONY: help
help: ## print this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## (.*)$$/\1\t\2/' \
		| while IFS=$$'\t' read -r target text; do printf '  make %-12s %s\n' "$$target" "$$text"; done

.PHONY: setup
setup: ## install the Debian packages of packages.txt that are missing
	@wanted=$$(sed -e 's/#.*//' packages.txt); \
	present=" $$( \
		{ dpkg-query -W -f='$${db:Status-Status} $${Package}\n' $$wanted 2>/dev/null || true; } \
		| sed -n 's/^installed //p' | tr '\n' ' ') "; \
	missing=""; \
	for package in $$wanted; do \
		[[ "$$present" == *" $$package "* ]] || missing+=" $$package"; \
	done; \
	if [[ -n "$$missing" ]]; then \
		if [[ $$(id -u) -ne 0 ]]; then \
			echo "setup: missing packages:$$missing" >&2; \
			echo "setup: run 'make setup' as root to install them" >&2; \
			exit 1; \
		fi; \
		echo "setup: installing$$missing"; \
		apt-get update -q; \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$missing; \
	fi

.PHONY: build
build: setup ## build the release binary, build/release/stowage
	@echo "== release: build the program"
	@cmake --preset release --log-level=WARNING >/dev/null
	@cmake --build --preset release -j $(JOBS) --target stowage_program

.PHONY: test
test: setup ## run all tests: of programs with g++; of modules with clang++, sanitizers and fuzzers
	$(call compile,release,-DSTOWAGE_UNIT_TESTS=OFF)
	$(call check,release)
	@echo "== faults: fresh seeds"
	@$(RELEASE)/tests/faults/stowage_faults --fresh $(FRESH) \
		|| echo "make: some fresh seeds fail; see Known in docs/reliability.md"
	$(call compile,dev)
	$(call check,dev)
	$(call compile,threads)
	$(call check,threads)

.PHONY: test-release test-dev test-asan test-tsan test-threads
test-release test-dev test-asan test-tsan test-threads: test-%: setup
	$(call compile,$*,-DSTOWAGE_UNIT_TESTS=ON)
	$(call check,$*)

.PHONY: fuzz
fuzz: setup ## search for inputs that break a reader, FUZZ_SECONDS=60 for each
	@cmake --preset dev --log-level=WARNING >/dev/null
	@cmake --build --preset dev -j $(JOBS) --target stowage_fuzz
	@mkdir -p build/fuzz/found
	@ls fuzz/corpus | xargs -P $(JOBS) -I{} bash -c 'mkdir -p build/fuzz/corpus/{}; \
		build/dev/fuzz/{}_fuzz -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=1024 -timeout=10 \
			-artifact_prefix=build/fuzz/found/{}- build/fuzz/corpus/{} fuzz/corpus/{} \
			>build/fuzz/{}.log 2>&1 && echo "{}: $$(tail -1 build/fuzz/{}.log)" \
			|| { tail -40 build/fuzz/{}.log; echo "{}: FAILED"; exit 1; }'

.PHONY: kube-test
kube-test: build ## run the controller against a real Kubernetes control plane, built once with Go
	@echo "== kube-test"
	@$(PYTHON) tests/kubernetes/smoke_test.py
	@$(PYTHON) tests/kubernetes/conformance_test.py
	@$(PYTHON) tests/kubernetes/faults_test.py --rounds 2 --pods 200
	@cmake --build --preset release -j $(JOBS) --target podresources_probe grpc_server
	@$(PYTHON) tests/agent/podresources_test.py $(RELEASE)/tests/agent/podresources_probe --fetch
	@$(PYTHON) tests/agent/grpc_test.py $(RELEASE)/tests/agent/grpc_server --fetch

.PHONY: kube-faults
kube-faults: build ## kill what can be killed on a real control plane while pods come: half an hour
	@$(PYTHON) tests/kubernetes/faults_test.py --rounds $(ROUNDS) --pods $(PODS)

.PHONY: kube-bench
kube-bench: build ## race kube-scheduler on a real control plane, results in bench/results/
	@cmake --build --preset release -j $(JOBS) --target stowage_kube_load
	@mkdir -p bench/results
	$(PYTHON) bench/kube_race.py $(RELEASE)/stowage $(RELEASE)/bench/stowage_kube_load

.PHONY: bench
bench: build ## run the benchmarks (engine, controller, extender), results in bench/results/
	@cmake --build --preset release -j $(JOBS) --target stowage_bench stowage_rules_bench \
		stowage_hostile_bench stowage_extender_load
	@mkdir -p bench/results
	$(RELEASE)/bench/stowage_bench --out bench/results/latest.json
	$(RELEASE)/bench/stowage_rules_bench --out bench/results/rules.json
	$(RELEASE)/bench/stowage_hostile_bench --out bench/results/hostile.json
	$(PYTHON) bench/cluster_bench.py $(RELEASE)/stowage --out bench/results/cluster.json
	$(PYTHON) bench/extender_bench.py $(RELEASE)/stowage $(RELEASE)/bench/stowage_extender_load \
		--out bench/results/extender.json

.PHONY: scale-bench
scale-bench: build ## 10,000 nodes, 100,000 pods and 500 more every second, for MINUTES=30
	@cmake --build --preset release -j $(JOBS) --target stowage_churn_load
	@mkdir -p bench/results
	$(PYTHON) bench/scale_bench.py $(RELEASE)/stowage $(RELEASE)/bench/stowage_churn_load \
		--minutes $(MINUTES) --out bench/results/scale.json

.PHONY: agents-bench
agents-bench: build ## 5,000 agents against one controller, and what one agent costs: ten minutes
	@cmake --build --preset release -j $(JOBS) --target stowage_agents_load stowage_churn_load
	@mkdir -p bench/results
	$(PYTHON) bench/agents_bench.py $(RELEASE)/stowage $(RELEASE)/bench/stowage_agents_load \
		$(RELEASE)/bench/stowage_churn_load --out bench/results/agents.json

.PHONY: metrics-page
metrics-page: build ## write docs/metrics.md anew, from the code
	@cmake --build --preset release -j $(JOBS) --target stowage_metrics_page
	@$(RELEASE)/tests/metrics/stowage_metrics_page > docs/metrics.md

.PHONY: sbom
sbom: build ## what the program is made of, as SPDX: build/release/stowage.spdx.json
	@$(PYTHON) tools/sbom.py $(RELEASE)/stowage $(RELEASE)/stowage.spdx.json
	@$(PYTHON) tools/sbom.py --notices THIRD_PARTY_NOTICES.md

.PHONY: lint
lint: setup ## check format, layers and size limits: seconds
	@echo "== lint: format"
	@$(CXX_FILES) | xargs -r clang-format-16 --dry-run -Werror
	@echo "== lint: layers"
	@$(PYTHON) tools/check_layers.py
	@echo "== lint: tidy"
	@$(PYTHON) tools/tidy.py

.PHONY: lint-deep
lint-deep: lint ## also compile every header alone and run clang-tidy: half an hour on two cores
	@cmake --preset dev -B build/single -DSTOWAGE_BATCH=1 --log-level=WARNING >/dev/null
	@echo "== lint: headers"
	@$(PYTHON) tools/check_headers.py --include build/single/generated
	@echo "== lint: clang-tidy"
	@run-clang-tidy-16 -quiet -j 2 -p build/single '$(CURDIR)/src/'

.PHONY: format
format: setup ## rewrite all C++ files with clang-format
	@$(CXX_FILES) | xargs -r clang-format-16 -i

.PHONY: demo
demo: build ## a local cluster with a mixed workload, open to kubectl until Ctrl-C
	@$(RELEASE)/stowage local demo

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build
