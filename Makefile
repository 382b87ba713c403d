# Every target starts and stops what it needs, on free ports, and asks nothing.
# What a target does is said beside it; how, in scripts/.

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

.PHONY: help run test test-rust test-pages check fmt simulate rush bench doctor watch build screenshots setup clean clean-all

help: ## Lists these targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  \033[1mmake %-12s\033[0m %s\n", $$1, $$2 }' Makefile

run: ## Installs what is missing, builds, starts everything with the demo. PORT=3000 DATA=data
	@scripts/run.sh

test: ## Installs what is missing and runs every test: Rust, WebAssembly build, pages.
	@scripts/test.sh all

test-rust: ## The Rust tests alone.
	@scripts/test.sh rust

test-pages: ## The tests of the pages in a browser alone.
	@scripts/test.sh pages

check: ## Format, lints (native and WebAssembly), documentation, dependencies.
	@scripts/check.sh

fmt: ## Formats the Rust code.
	@bash -c 'source scripts/common.sh && cargo fmt --all'

simulate: ## Plays sales of seats with faults in a model of both stores. SEEDS=100000 START=0 or SEED=123
	@SEEDS='$(SEEDS)' START='$(START)' SEED='$(SEED)' scripts/simulate.sh

rush: ## Simulates an on-sale and prints the result as JSON. FANS=2000 SEATS=2000 [URL=http://...] [QUEUE_ONLY=1] [WEBHOOKS=drop] [PROVIDER=flaky]
	@FANS='$(FANS)' SEATS='$(SEATS)' URL='$(URL)' QUEUE_ONLY='$(QUEUE_ONLY)' WEBHOOKS='$(WEBHOOKS)' PROVIDER='$(PROVIDER)' scripts/rush.sh

bench: ## Measures the program beside baselines and budgets, in some minutes. [ONLY=holds,fanout]
	@ONLY='$(ONLY)' scripts/bench.sh

doctor: ## Says what is wrong with settings, stores and invariants. DATA=data [AUDIT=1]
	@AUDIT='$(AUDIT)' scripts/doctor.sh

watch: ## Develops: builds again and reloads the browser on each change. PORT=3000
	@scripts/watch.sh

build: ## The release build alone, in target/dist.
	@scripts/build.sh

screenshots: ## Pictures of every page in target/screenshots.
	@scripts/screenshots.sh

setup: ## Installs what is missing and stops there.
	@scripts/setup.sh
	@scripts/stores.sh
	@scripts/browser.sh

clean: ## Removes build results and data of this folder.
	@scripts/clean.sh

clean-all: ## Removes also the tools and compiled dependencies in the cache.
	@scripts/clean.sh all
