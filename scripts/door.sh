#!/usr/bin/env bash
# The small entry for the pages of a crowd: the frontend once more with `door` alone, into the given site.
# Used by build.sh, behind the build of the whole site, whose compiled dependencies it shares.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

site=$1   # folder of the site
hashes=$2 # file for the names of the hashed files
cd "$ROOT"

# As cargo-leptos names it, whose dependencies are compiled with the name: else they would be compiled twice.
LEPTOS_OUTPUT_NAME=stararena cargo build --package frontend --lib --no-default-features --features door \
  --target wasm32-unknown-unknown --profile wasm-release --target-dir "$CARGO_TARGET_DIR/front"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wasm-bindgen --target web --no-typescript --out-dir "$work" --out-name door \
  "$CARGO_TARGET_DIR/front/wasm32-unknown-unknown/wasm-release/frontend.wasm"
# What is written into its callers is smaller plain and larger compressed, and compressed is how it travels;
# functions that are alike stay beside each other for the same reason.
wasm-opt --flatten --rereloop -Oz -Oz --skip-pass=inlining-optimizing --skip-pass=reorder-functions \
  --strip-debug --strip-producers "$work/door_bg.wasm" -o "$work/door.wasm"
esbuild "$work/door.js" --minify --format=esm --allow-overwrite --log-level=warning --outfile="$work/door.js"
node scripts/door.mjs "$work" "$site/pkg" "$hashes"
