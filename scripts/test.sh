#!/usr/bin/env bash
# Every test: Rust (unit, integration with real stores, documentation), then the release build for the
# browser, then the pages in a real browser. `test.sh rust` or `test.sh pages` does one half.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

which=${1:-all}
logs=$CACHE/logs
mkdir -p "$logs"
summary=()
failed=0

run() { # name command...: shows the output as it comes and keeps it for the summary
  local name=$1; shift
  say "$name"
  local log=$logs/${name// /-}.log
  if "$@" 2>&1 | tee "$log"; then :; else
    failed=1
    summary+=("FAILED: $name (all of its output: $log)")
  fi
}

# Adds up what a runner said: every "N passed" and "N failed" of its closing lines.
passed_count=0
failed_count=0
sum() { grep -oE "$1" | awk '{ n += $1 } END { print n + 0 }' || true; }

closing() { # name pattern: the closing lines of a runner
  local lines
  lines=$(sed -E 's/\x1b\[[0-9;]*m//g' "$logs/${1// /-}.log" | grep -aE "$2") || lines="its runner said nothing"
  summary+=("$1: $(tr '\n' ' ' <<<"$lines" | tr -s ' ')")
  passed_count=$((passed_count + $(sum '[0-9]+ passed' <<<"$lines")))
  failed_count=$((failed_count + $(sum '[0-9]+ (failed|timed out)' <<<"$lines")))
}

rust_tests() {
  cd "$ROOT"
  run "Rust tests" cargo nextest run "${NATIVE_PACKAGES[@]}"
  closing "Rust tests" 'Summary .*tests? run'
  run "documentation tests" cargo test --quiet --doc "${NATIVE_PACKAGES[@]}"
  closing "documentation tests" '^test result'
}

page_tests() {
  "$ROOT/scripts/browser.sh"
  "$ROOT/scripts/build.sh"
  use_dist
  cd "$ROOT/end2end"
  run "page tests" npx --no-install playwright test
  closing "page tests" '^ +[0-9]+ (passed|failed|flaky|skipped|did not run)'
}

"$ROOT/scripts/setup.sh"
source "$ROOT/scripts/common.sh"
"$ROOT/scripts/stores.sh"
"$ROOT/scripts/nginx.sh"
"$ROOT/scripts/localstripe.sh"
"$ROOT/scripts/nextest.sh"

# Every test with stores of its own makes and removes thousands of files: in memory, where there is room, the whole
# takes half the time. Postgres may run as another user, who has to come through.
if [ -w /dev/shm ] && [ "$(df --output=avail -m /dev/shm | tail -1)" -ge 4096 ]; then
  TMPDIR=$(mktemp -d /dev/shm/stararena-tests.XXXXXX)
  chmod 711 "$TMPDIR"
  export TMPDIR
  trap 'rm -rf "$TMPDIR"' EXIT
fi

case $which in
  rust) rust_tests ;;
  pages) page_tests ;;
  all) rust_tests; page_tests ;;
  *) die "test.sh knows rust, pages and all, not $which" ;;
esac

say "summary"
printf '%s\n' "${summary[@]}"
echo "$passed_count passed, $failed_count failed"
[ "$failed" = 0 ] || die "some tests failed: see above"
