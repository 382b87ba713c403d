#!/usr/bin/env bash
# Node.js, and wasm-opt and esbuild from npm: what shrinks the release build for the browser.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

node_major() { node --version 2>/dev/null | sed -nE 's/^v([0-9]+)\..*/\1/p'; }

{ have node && have npm; } || apt_install nodejs npm
[ "$(node_major)" -ge "$NODE_MIN_MAJOR" ] ||
  die "Node.js $NODE_MIN_MAJOR or newer is needed, $(node --version) is here (see README.md, Other systems)"

folder=$CACHE/node/$(sha256 <"$ROOT/scripts/node/package-lock.json" | cut -c1-16)
if [ ! -x "$folder/node_modules/.bin/esbuild" ]; then
  say "installing wasm-opt and esbuild from npm"
  mkdir -p "$folder"
  cp "$ROOT/scripts/node/package.json" "$ROOT/scripts/node/package-lock.json" "$folder/"
  (cd "$folder" && npm ci --no-fund --no-audit) >"$CACHE/npm.log" 2>&1 ||
    die "npm could not install wasm-opt and esbuild; its output is in $CACHE/npm.log"
fi
for tool in wasm-opt esbuild; do ln -sfn "$folder/node_modules/.bin/$tool" "$TOOLS_BIN/$tool"; done
