#!/usr/bin/env bash
# The test runner of the Rust tests.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cargo nextest --version >/dev/null 2>&1 || cargo_tool cargo-nextest "$NEXTEST_VERSION" --locked
