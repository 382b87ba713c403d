#!/usr/bin/env bash
# A Chromium for the tests of the pages, with a font for the Chinese ones; and their npm packages.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$ROOT/scripts/node-tools.sh"

if [ -z "${CHROMIUM:-}" ] && ! have chromium; then apt_install chromium; fi
if have fc-list && have apt-get && ! fc-list ':lang=zh-cn' file 2>/dev/null | grep -q .; then
  apt_install fonts-noto-cjk
fi

cd "$ROOT/end2end"
if ! cmp -s package-lock.json node_modules/.installed-lock.json; then
  say "installing the npm packages of the page tests"
  npm ci --no-fund --no-audit >"$CACHE/npm-end2end.log" 2>&1 ||
    die "npm could not install the packages of end2end/; its output is in $CACHE/npm-end2end.log"
  cp package-lock.json node_modules/.installed-lock.json
fi
