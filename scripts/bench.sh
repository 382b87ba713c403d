#!/usr/bin/env bash
# The benchmarks: starts everything itself, measures on this machine, prints a table and writes
# target/bench/report.json. ONLY names groups, separated by commas. The last line says how many budgets
# hold; it fails when something could not be measured, or was answered wrongly.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$ROOT/scripts/stores.sh"
"$ROOT/scripts/build.sh"
use_dist
mkdir -p "$ROOT/target/bench"
commit=$(git -C "$ROOT" describe --always --dirty 2>/dev/null || echo unknown)
arguments=(--report "$ROOT/target/bench/report.json" --commit "$commit")
[ -z "${ONLY:-}" ] || arguments+=(--only "$ONLY")
# The program's own words about a server that is under load on purpose would hide the table.
export STARARENA_LOG=${STARARENA_LOG:-error}
exec "$STARARENA_BIN" bench "${arguments[@]}"
