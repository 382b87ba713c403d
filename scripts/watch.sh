#!/usr/bin/env bash
# Development: builds again and reloads the browser on each change. Same stores as `make run`.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$ROOT/scripts/stores.sh"
"$ROOT/scripts/setup.sh"
source "$ROOT/scripts/common.sh"
cd "$ROOT"
export STARARENA_LISTEN=127.0.0.1:${PORT:-$(free_port 3000)}
export LEPTOS_SITE_ADDR=$STARARENA_LISTEN
export STARARENA_DATA_DIR=${DATA:-$ROOT/data}
exec cargo leptos watch -- all --demo
