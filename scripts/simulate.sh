#!/usr/bin/env bash
# The simulation of inventory and orders: SEEDS runs from START on, or the one run of SEED, with its last
# steps told when it fails. Needs no store.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$ROOT/scripts/setup.sh"
source "$ROOT/scripts/common.sh"
"$ROOT/scripts/nextest.sh"

cd "$ROOT"
export STARARENA_SEEDS=${SEEDS:-100000} STARARENA_SEED_START=${START:-0}
[ -z "${SEED:-}" ] || export STARARENA_SEED=$SEED
# Both halves at once; a long run is no hanging test.
exec cargo nextest run --profile simulate "${NATIVE_PACKAGES[@]}" -E 'test(seats_never_lie)'
