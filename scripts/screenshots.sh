#!/usr/bin/env bash
# Pictures of every page, desktop and phone, light and dark, in target/screenshots.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$ROOT/scripts/stores.sh"
"$ROOT/scripts/browser.sh"
"$ROOT/scripts/build.sh"
use_dist
cd "$ROOT/end2end"
npx --no-install playwright test --config screenshots.config.ts
say "the pictures are in target/screenshots"
