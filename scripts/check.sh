#!/usr/bin/env bash
# What must hold before a change is shown to others: format, lints for both targets, documentation,
# dependencies, the scripts themselves. Runs all parts, then says which failed.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$ROOT/scripts/setup.sh"
source "$ROOT/scripts/common.sh"
"$ROOT/scripts/browser.sh"
cd "$ROOT"

failed=()
part() { # name command...
  local name=$1; shift
  say "check: $name"
  "$@" || failed+=("$name")
}

documentation() { RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps "${NATIVE_PACKAGES[@]}"; }

dependencies() {
  if have cargo-deny; then
    cargo deny check licenses bans sources || return 1
    # The database of known holes comes from the network, which not every machine may reach.
    if timeout 60 cargo deny fetch db >/dev/null 2>&1; then
      cargo deny check --disable-fetch advisories
    else
      say "the database of known holes can't be reached: advisories were not checked"
    fi
  else
    node scripts/dependencies.mjs
  fi
}

shell_scripts() {
  if have shellcheck; then shellcheck scripts/*.sh .ci/run; else say "no shellcheck here: skipped"; fi
}

types_of_page_tests() { (cd end2end && npx --no-install tsc --noEmit); }

part "format" cargo fmt --all --check
part "lints, native" cargo clippy --quiet --all-targets "${NATIVE_PACKAGES[@]}" -- -D warnings
part "lints, WebAssembly" cargo clippy --quiet -p frontend --target wasm32-unknown-unknown -- -D warnings
part "documentation" documentation
part "dependencies" dependencies
part "shell scripts" shell_scripts
part "types of the page tests" types_of_page_tests

[ ${#failed[@]} = 0 ] || die "these checks failed: $(IFS=';'; echo "${failed[*]}")"
say "all checks passed"
