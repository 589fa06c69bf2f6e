# NullOps: everything a contributor or a CI machine does has a target here.
# `make help` lists them. Targets install what is missing by themselves.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS   += --no-print-directory --warn-undefined-variables

# Control plane and agents must carry the same version, see agent/wire.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# CHECK=1 makes `make demo` verify itself, stop everything and exit.
CHECK ?=
# What `make test` runs: any of go, ui, browser.
PARTS ?= go ui browser
# ROWS=journal_fsync,simulator narrows `make bench`; the other rows stay as they are.
ROWS ?=
# RESUME=1 leaves out what `make bench` has published of the same code.
RESUME ?=
# PKG=./agent/... narrows the Go tests.
PKG ?= ./...

# Which part of the slow suites `make test` runs: 1 to 7, or all. Empty: the weekday chooses.
PART ?=

# What `make mutants` tests: CHANGED=1 for changed lines only, SAMPLE=30 for so many, chosen by SEED.
CHANGED ?=
SAMPLE ?= 0
# What decides in `make mutants` (1 without it) and `make chaos` (a fresh one without it).
SEED ?=
# How long `make chaos` breaks things (10 without it), and `make soak` uses the product (60).
MINUTES ?=

# How many agents `make bench-fleet` measures with.
AGENTS ?= 10000

GO_BUILD := go build -trimpath -buildvcs=false

# Everything the UI's bundle is made of.
UI_SOURCES := $(shell find ui/src ui/public ui/scripts -type f ! -name '*.test.*' 2>/dev/null) \
	ui/index.html ui/vite.config.ts ui/package.json ui/package-lock.json

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: build ## install what is missing, build, start it all and show the main job (CHECK=1 verifies and stops)
	@CHECK='$(CHECK)' tools/demo.sh

.PHONY: demo-clean
demo-clean: ## remove what demos of this checkout left: containers, networks, volumes, images, data
	@tools/demo.sh --clean

.PHONY: dev
dev: build ## run control plane, UI, ingress and PostgreSQL from this checkout (data in .nullops)
	@bin/nullops dev

.PHONY: setup
setup: ## install missing Debian packages and the UI's packages
	@tools/setup/install.sh

.PHONY: build
build: setup ui/dist/index.html sidecar ## build bin/nullops with the UI and the sidecar inside
	@CGO_ENABLED=0 $(GO_BUILD) -ldflags '-s -w -X main.build=$(VERSION)' -o bin/nullops ./cmd/nullops

# Go rebuilds only what changed, so the two Go targets need no file prerequisites.
.PHONY: sidecar
sidecar: setup ## build the static helper that the agent embeds
	@CGO_ENABLED=0 $(GO_BUILD) -ldflags '-s -w' -o agent/docker/bin/sidecar ./cmd/sidecar

ui/dist/index.html: $(UI_SOURCES) | setup
	@cd ui && npm run --silent build

.PHONY: generate
generate: setup ## regenerate SQL code, API server, API client, UI types and docs/promises.md
	@tools/generate.sh

.PHONY: verify
verify: ## regenerate, and fail when the committed code differs
	@tools/generate.sh --verify

.PHONY: lint
lint: setup ## check style: golangci-lint with the import arrows, Biome and types for the UI
	@tools/lint.sh

.PHONY: test
test: build ## run all tests: Go with -race on real servers, UI, browser (PARTS, PKG narrow it; PART=all)
	@PKG='$(PKG)' NULLOPS_TEST_PART='$(PART)' tools/run services -- tools/test.sh $(PARTS)

.PHONY: test-go
test-go: ## run the Go tests only
	@$(MAKE) test PARTS=go

.PHONY: test-ui
test-ui: setup ## run the UI's unit tests only
	@tools/test.sh ui

.PHONY: test-browser
test-browser: ## run the browser tests only
	@$(MAKE) test PARTS=browser

.PHONY: test-crowd
test-crowd: build ## 200 deployments on one node: none reaches another, none leaves a network (slow)
	@NULLOPS_TEST_CROWD=200 tools/run services -- \
		tools/run gotest -timeout 30m -run '^TestEndToEnd$$/^Crowd$$' ./cmd/nullops

.PHONY: test-apps
test-apps: build ## run WordPress with MariaDB through the product; the first time builds their images
	@tools/run services -- bash -euc 'tools/run images push --applications \
		--to "$$NULLOPS_TEST_REGISTRY" && tools/run gotest -timeout 30m -tags apps \
		-run "^TestApplications" ./cmd/nullops'

.PHONY: test-release
test-release: build ## make a release for this machine and install it: archive, package, images (slow)
	@tools/run services -- tools/run gotest -timeout 40m -tags releases -run '^TestRelease' ./cmd/nullops

.PHONY: test-release-charts
test-release-charts: build ## make a release, and install its charts with its images on a real cluster (slow)
	@tools/setup/install.sh kubernetes
	@tools/run services --only postgres -- tools/kubernetes/node.sh bash -euc 'tools/run images push \
		--to "$$NULLOPS_TEST_KUBERNETES_REGISTRY" && tools/run gotest -timeout 25m \
		-tags kubernetes,releases -run "^TestKubernetesRelease$$" ./cmd/nullops'

# ENGINES=29-classic/runc narrows `make test-engines` to some combinations, ONLY=TestPull to tests
# of the agent, STORIES=Isolation to stories of the whole product.
ENGINES ?=
ONLY ?=
STORIES ?=

.PHONY: test-engines
test-engines: build ## run what depends on the engine on Docker 20.10 and 29, both image stores, runc and crun
	@ONLY='$(ONLY)' STORIES='$(STORIES)' tools/engines.sh $(ENGINES)

.PHONY: test-kubernetes
test-kubernetes: build ## hold agent/kubernetes and the product to their promises on a real cluster (the first time builds it)
	@tools/setup/install.sh kubernetes
	@ONLY='$(ONLY)' NULLOPS_TEST_PART='$(PART)' tools/run services -- \
		tools/kubernetes/node.sh tools/kubernetes/test.sh

.PHONY: test-slow
test-slow: build ## tell the browser stories that take minutes: a link down for one, every state of every page
	@tools/run services --only docker,registry -- timeout --kill-after=60 40m \
		tools/run demo npm --prefix ui run --silent e2e -- --slow

.PHONY: mutants
mutants: sidecar ## break the core and see whether tests notice; writes docs/mutants.md (PKG, CHANGED, SAMPLE, SEED)
	@tools/run services --only postgres -- nice tools/run mutants --sample '$(SAMPLE)' --seed '$(or $(SEED),1)' \
		$(if $(CHANGED),--changed) $(filter-out ./...,$(PKG))

.PHONY: fixtures
fixtures: build ## at a release: write the fixtures that later commits upgrade in their tests
	@tools/fixtures.sh

.PHONY: chaos
chaos: build ## break a whole installation at random and check it (MINUTES=10; SEED replays a run)
	@tools/run services -- tools/chaos.sh '$(or $(MINUTES),10)' $(SEED)

.PHONY: soak
soak: build ## use a whole installation and see whether it grows; 60 minutes are written to docs/soak.*
	@tools/run services --disk -- tools/run bench --soak '$(or $(MINUTES),60)m'

.PHONY: bench
bench: build ## measure against docker, nginx and a plain proxy; writes docs/benchmarks.json (ROWS narrows it)
	@tools/setup/install.sh bench
	@tools/bench/peers.sh
	@tools/run services --disk -- tools/run bench $(if $(ROWS),--publish --only '$(ROWS)') \
		$(if $(RESUME),--resume)

.PHONY: bench-fleet
bench-fleet: build ## measure a control plane with AGENTS=10000 agents; 10000 are written to docs/fleet.*
	@tools/run services --disk --only postgres,registry -- tools/run fleet --agents $(AGENTS) \
		$(if $(filter 10000,$(AGENTS)),--publish)

.PHONY: bench-scale
bench-scale: build ## measure how costs grow with agents and deployments; writes docs/scale.*
	@tools/run services --disk --only postgres,registry -- tools/run fleet --scale --publish

.PHONY: bench-ui
bench-ui: build ## measure the UI in a browser; writes docs/bench-ui.json and .md
	@cd tools/lighthouse && npm ci --silent --ignore-scripts --no-audit --no-fund
	@OTEL_SDK_DISABLED=true tools/run services --only docker,registry -- \
		tools/run demo node ui/scripts/bench.mjs

.PHONY: docs
docs: setup ## build the documentation site from docs/ into ui/docs, which the next build embeds
	@tools/docs/build.sh

.PHONY: docs-tested
docs-tested: setup ## run the tests of what the pages say, and note the day in docs/tested.json
	@tools/run services --only postgres -- node tools/docs/tested.mjs

# KEY=FILE signs a release: an ed25519 key in PEM. TWICE=1 builds it a second time and compares.
KEY ?=
TWICE ?=

.PHONY: release
release: setup ui/dist/index.html docs ## build a release into dist/VERSION: programs, images, packages, charts (VERSION=v1.2.3 KEY=FILE)
	@tools/run release --version '$(VERSION)' $(if $(KEY),--key '$(KEY)') $(if $(TWICE),--twice)

.PHONY: clean
clean: ## remove what was built; keeps .nullops (data) and the cached tools
	@rm -rf bin dist .cache/bin .cache/services agent/docker/bin/sidecar ui/coverage
	@find ui/dist -mindepth 1 ! -name .gitkeep -delete

.PHONY: screenshots
screenshots: build ## take the pictures of docs/screenshots from the real product
	@tools/run services --only docker,registry -- tools/run demo \
		node ui/scripts/screenshots.mjs docs/screenshots

.PHONY: film
film: build ## take the README's moving picture from the real product
	@tools/run services --only docker,registry -- tools/run demo \
		node ui/scripts/film.mjs docs/screenshots/film.png
