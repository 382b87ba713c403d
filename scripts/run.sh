#!/usr/bin/env bash
# Builds what has changed and starts everything with the demo; stays in the foreground until Ctrl-C.
# PORT chooses the port (else the first free one from 3000), DATA the folder of the stores.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$ROOT/scripts/stores.sh"
"$ROOT/scripts/build.sh"
use_dist
export STARARENA_LISTEN=127.0.0.1:${PORT:-$(free_port 3000)}
export STARARENA_DATA_DIR=${DATA:-$ROOT/data}
say "starting StarArena at http://$STARARENA_LISTEN (stop with Ctrl-C; its data is in $STARARENA_DATA_DIR)"
# The program seeds the demo, prints the address and the sign-ins, and stops its stores when it stops.
exec "$STARARENA_BIN" all --demo
