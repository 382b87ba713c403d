#!/usr/bin/env bash
# The programs of the build: wasm-bindgen and cargo-leptos, exactly the pinned versions, and wasm-opt.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

[ "$(wasm-bindgen --version 2>/dev/null)" = "wasm-bindgen $WASM_BINDGEN_VERSION" ] ||
  cargo_tool wasm-bindgen-cli "$WASM_BINDGEN_VERSION"
[ "$(cargo-leptos --version 2>/dev/null | awk '{print $2}')" = "$CARGO_LEPTOS_VERSION" ] ||
  cargo_tool cargo-leptos "$CARGO_LEPTOS_VERSION" --locked --no-default-features --features no_downloads
"$ROOT/scripts/node-tools.sh"
