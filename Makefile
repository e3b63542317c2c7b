# Entry point of the build: every command that people or CI run is a target below.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

JOBS := $(shell nproc)
PYTHON := /usr/bin/python3
RELEASE := build/release
FUZZ_SECONDS ?= 60
FUZZ_SEED ?= 0
FUZZERS ?= $(notdir $(wildcard fuzz/corpus/*))
LEG ?=
MINUTES ?= 30
ROUNDS ?= 20
PODS ?= 2000
FRESH ?= 60
CXX_FILES = find $(wildcard src tests bench fuzz) -name '*.h' -o -name '*.cc'

# $(call compile,<preset>[,<build preset>]): configures a preset and builds all of it, or only the
# targets of a build preset.
define compile
	@echo "== $(or $(2),$(1)): build"
	@cmake --preset $(1) --log-level=WARNING -DSTOWAGE_UNIT_TESTS=ON >/dev/null
	@cmake --build --preset $(or $(2),$(1)) -j $(JOBS)
endef

# $(call check,<preset>): runs the tests of one preset, which must be built.
define check
	@echo "== $(1): test"
	@ctest --preset $(1) -j $(JOBS)
endef

.PHONY: help
help: ## print this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## (.*)$$/\1\t\2/' \
		| while IFS=$$'\t' read -r target text; do printf '  make %-12s %s\n' "$$target" "$$text"; done

# These targets install missing packages, so that they work on a new machine. Other targets only
# name them.
setup test kube-test demo: INSTALL := yes

.PHONY: setup
setup: packages ## install the Debian packages of packages.txt that are missing

.PHONY: packages
packages:
	@wanted=$$(sed -e 's/#.*//' packages.txt); \
	present=" $$( \
		{ dpkg-query -W -f='$${db:Status-Status} $${Package}\n' $$wanted 2>/dev/null || true; } \
		| sed -n 's/^installed //p' | tr '\n' ' ') "; \
	missing=""; \
	for package in $$wanted; do \
		[[ "$$present" == *" $$package "* ]] || missing+=" $$package"; \
	done; \
	if [[ -n "$$missing" ]]; then \
		if [[ "$(INSTALL)" != yes || $$(id -u) -ne 0 ]]; then \
			echo "make: missing packages:$$missing" >&2; \
			echo "make: run as root: make setup" >&2; \
			exit 1; \
		fi; \
		echo "setup: installing$$missing"; \
		apt-get update -q; \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$missing; \
	fi

.PHONY: build
build: packages ## build the release binary, build/release/stowage
	@echo "== release: build the program"
	@cmake --preset release --log-level=WARNING >/dev/null
	@cmake --build --preset release -j $(JOBS) --target stowage_program

.PHONY: test
test: packages ## run all tests: programs as released; modules and fuzzers with sanitizers; threads
	$(call compile,release,programs)
	$(call check,programs)
	@echo "== faults: fresh seeds"
	@$(RELEASE)/tests/faults/stowage_faults --fresh $(FRESH) \
		|| { echo "make: replay a seed that fails by stowage_faults --seed N --verbose" >&2; \
		exit 1; }
	$(call compile,dev,units)
	$(call check,units)
	$(call compile,threads)
	$(call check,threads)

.PHONY: test-release test-dev test-asan test-tsan test-threads
test-release test-dev test-asan test-tsan test-threads: test-%: packages
	$(call compile,$*)
	$(call check,$*)

# make test-core: the tests of one module, with sanitizers.
MODULES := $(patsubst src/%/CMakeLists.txt,%,$(wildcard src/*/CMakeLists.txt)) local_cluster hostile
.PHONY: $(MODULES:%=test-%)
$(MODULES:%=test-%): test-%: packages
	@cmake --preset dev --log-level=WARNING -DSTOWAGE_UNIT_TESTS=ON >/dev/null
	@cmake --build --preset dev -j $(JOBS) --target $*_test
	@ctest --preset dev -j $(JOBS) -L '^unit$$' -R '^$*_test$$'

.PHONY: matrix
matrix: packages ## run one LEG of the long checks, all of it or for LIMIT seconds
	@$(PYTHON) tools/matrix.py $(LEG) $(if $(LIMIT),--seconds $(LIMIT))

.PHONY: fuzz
fuzz: packages ## search for inputs that break a reader, FUZZ_SECONDS=60 for each
	@cmake --preset dev --log-level=WARNING >/dev/null
	@cmake --build --preset dev -j $(JOBS) --target stowage_fuzz
	@$(MAKE) fuzz-run

# Runs the FUZZERS of fuzz/corpus, which must be built.
.PHONY: fuzz-run
fuzz-run:
	@mkdir -p build/fuzz/found
	@printf '%s\n' $(FUZZERS) | xargs -P $(JOBS) -I{} bash -c 'mkdir -p build/fuzz/corpus/{}; \
		build/dev/fuzz/{}_fuzz -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=1024 -timeout=10 \
			-seed=$(FUZZ_SEED) -artifact_prefix=build/fuzz/found/{}- \
			build/fuzz/corpus/{} fuzz/corpus/{} \
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
	@$(PYTHON) tests/node/bed_test.py
	@$(PYTHON) tests/node/bed_test.py --runtime containerd
	@$(PYTHON) tests/node/agent_test.py
	@$(PYTHON) tests/node/agent_storm.py --pods 60

.PHONY: node-test
node-test: build ## give 1,000 pods their cards through the real kubelet, which is killed meanwhile
	@$(PYTHON) tests/node/agent_test.py --runtime containerd
	@$(PYTHON) tests/node/agent_storm.py --pods 50 --runtime containerd
	@$(PYTHON) tests/node/agent_storm.py --pods 1000

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

.PHONY: digest
digest: packages ## print digests of all decisions; SAVE=FILE before a change, COMPARE=FILE after
	@cmake --preset release --log-level=WARNING >/dev/null
	@cmake --build --preset release -j $(JOBS) --target stowage_decisions >&2
	@$(PYTHON) tools/digest.py $(RELEASE)/tests/decisions/stowage_decisions \
		$(if $(SAVE),--save $(SAVE)) $(if $(COMPARE),--compare $(COMPARE))

.PHONY: metrics-page
metrics-page: build ## generate docs/metrics.md from the code
	@cmake --build --preset release -j $(JOBS) --target stowage_metrics_page
	@$(RELEASE)/tests/metrics/stowage_metrics_page > docs/metrics.md

.PHONY: public-surface
public-surface: build ## generate docs/public-surface.txt from the code
	@cmake --build --preset release -j $(JOBS) --target stowage_public_surface
	@$(PYTHON) tests/surface/surface_test.py $(RELEASE)/tests/surface/stowage_public_surface \
		$(RELEASE)/stowage docs/public-surface.txt --write

.PHONY: sbom
sbom: build ## what the program is made of, as SPDX: build/release/stowage.spdx.json
	@$(PYTHON) tools/sbom.py $(RELEASE)/stowage $(RELEASE)/stowage.spdx.json
	@$(PYTHON) tools/sbom.py --notices THIRD_PARTY_NOTICES.md

.PHONY: lint
lint: packages ## check format, Python, layers and size limits: seconds
	@echo "== lint: format"
	@$(CXX_FILES) | xargs -r clang-format-16 --dry-run -Werror
	@echo "== lint: Python"
	@find $(wildcard tools tests bench) -name '*.py' | xargs -r pyflakes3
	@echo "== lint: layers"
	@$(PYTHON) tools/check_layers.py
	@echo "== lint: tidy"
	@$(PYTHON) tools/tidy.py

.PHONY: lint-changed
lint-changed: lint ## also compile alone what a branch, or the last commit, changes
	@cmake --preset dev --log-level=WARNING -DSTOWAGE_UNIT_TESTS=ON >/dev/null
	@echo "== lint: changed sources and headers, alone"
	@$(PYTHON) tools/check_changed.py -p build/dev $(if $(BASE),--base $(BASE))

.PHONY: lint-deep
lint-deep: lint ## also compile every header alone and run clang-tidy: half an hour on two cores
	@cmake --preset dev --log-level=WARNING -DSTOWAGE_UNIT_TESTS=ON >/dev/null
	@echo "== lint: headers"
	@$(PYTHON) tools/check_headers.py --include build/dev/generated
	@echo "== lint: clang-tidy"
	@run-clang-tidy-16 -quiet -j $(JOBS) -p build/dev '$(CURDIR)/src/'

.PHONY: format
format: packages ## rewrite all C++ files with clang-format
	@$(CXX_FILES) | xargs -r clang-format-16 -i

.PHONY: hooks
hooks: ## have git run make lint before each commit
	@folder=$$(git rev-parse --git-path hooks); hook=$$folder/pre-commit; \
	wanted=$$(realpath tools/hooks/pre-commit); mkdir -p "$$folder"; \
	if [[ -e "$$hook" && "$$(realpath "$$hook")" != "$$wanted" ]]; then \
		echo "make: $$hook is there already and another; nothing was changed" >&2; \
		exit 1; \
	fi; \
	ln -sfn "$$wanted" "$$hook"; \
	echo "hooks: $$hook runs make lint; git commit --no-verify leaves it out"

.PHONY: demo
demo: build ## a local cluster with a mixed workload, open to kubectl until Ctrl-C
	@$(RELEASE)/stowage local demo

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build
