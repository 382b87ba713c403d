#!/usr/bin/env bash
# The release build: program and site, put together in target/dist so that they always belong to each
# other. Does nothing when neither the sources nor the tools have changed since the last one.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$ROOT/scripts/setup.sh"
source "$ROOT/scripts/common.sh" # the tools may only just have come

wanted=$(digest_of Cargo.toml Cargo.lock app frontend server style public migrations scripts/common.sh scripts/door.sh scripts/door.mjs scripts/node)
if [ -x "$DIST/stararena" ] && [ "$(cat "$DIST/.digest" 2>/dev/null)" = "$wanted" ]; then exit 0; fi

say "building the release (minutes after a fresh clone; its output is in $CACHE/build.log)"
cd "$ROOT"
started=$SECONDS
cargo leptos build --release --precompress >"$CACHE/build.log" 2>&1 || {
  tail -n 40 "$CACHE/build.log" >&2
  die "the release build failed; all of its output is in $CACHE/build.log"
}
[ -x "$CARGO_TARGET_DIR/release/stararena" ] || die "the release build left no $CARGO_TARGET_DIR/release/stararena"

rm -rf "$DIST"
mkdir -p "$DIST"
cp -R target/site "$DIST/site"
cp "$CARGO_TARGET_DIR/release/stararena" "$DIST/"
# The names of the hashed files, which the program reads beside itself.
cp "$CARGO_TARGET_DIR/release/hash.txt" "$DIST/"
"$ROOT/scripts/door.sh" "$DIST/site" "$DIST/hash-door.txt" >>"$CACHE/build.log" 2>&1 || {
  tail -n 40 "$CACHE/build.log" >&2
  die "the small entry could not be built; all of its output is in $CACHE/build.log"
}
echo "$wanted" >"$DIST/.digest"
say "built in $((SECONDS - started)) s"
