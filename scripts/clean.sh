#!/usr/bin/env bash
# Removes what building and running left in this folder, and the project's own compiled crates.
# Tools and compiled dependencies stay in the cache, which `clean.sh all` removes as well.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cd "$ROOT"
rm -rf target data end2end/node_modules end2end/test-results end2end/playwright-report
if [ "${1:-}" = all ]; then
  if have cargo; then cargo clean --quiet; fi
  rm -rf "$CACHE"
elif have cargo; then
  cargo clean --quiet "${NATIVE_PACKAGES[@]}" -p frontend
fi
