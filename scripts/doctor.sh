#!/usr/bin/env bash
# Says what is wrong with the settings, the stores and the invariants; with AUDIT, each check by name. Applies
# migrations that are missing.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$ROOT/scripts/stores.sh"
"$ROOT/scripts/build.sh"
use_dist
export STARARENA_DATA_DIR=${DATA:-$ROOT/data}
exec "$STARARENA_BIN" doctor ${AUDIT:+--audit}
