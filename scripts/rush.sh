#!/usr/bin/env bash
# The load simulator: FANS fans rush for SEATS seats. Starts and stops everything itself, in a folder of
# its own, unless URL names a running installation. With QUEUE_ONLY they stay at the door: joins, polls,
# the draw, entries. WEBHOOKS=drop loses all webhooks, PROVIDER=flaky fails a third of the provider's calls while the
# fans are at it; the report then tells how long payments took to end. The last line is the result as JSON.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$ROOT/scripts/stores.sh"
"$ROOT/scripts/build.sh"
use_dist
arguments=(--fans "${FANS:-2000}" --seats "${SEATS:-2000}")
[ -z "${URL:-}" ] || arguments+=(--url "$URL")
[ -z "${QUEUE_ONLY:-}" ] || arguments+=(--queue-only)
[ -z "${WEBHOOKS:-}" ] || arguments+=(--webhooks "$WEBHOOKS")
[ -z "${PROVIDER:-}" ] || arguments+=(--provider "$PROVIDER")
exec "$STARARENA_BIN" rush "${arguments[@]}"
