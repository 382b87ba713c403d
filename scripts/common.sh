# Shared by every set-up script: where tools live, how progress and failure are said.
# Sourced, never run. All state stays in the user's cache folder, so that a fresh clone is warm.
# shellcheck shell=bash
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${STARARENA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/stararena}
TOOLS=$CACHE/tools
TOOLS_BIN=$TOOLS/bin
mkdir -p "$TOOLS_BIN"

# One toolchain, one target folder, for every command of this project.
export PATH="$TOOLS_BIN:$PATH"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$CACHE/target}
# cargo looks for its subcommands in ~/.cargo/bin before PATH: where rustup's stand-ins are there,
# `cargo clippy` would leave this toolchain for rustup's default. They obey this variable.
if [ -L "$TOOLS_BIN/rustc" ] && [ -x "$TOOLS_BIN/rustc" ]; then
  RUSTUP_TOOLCHAIN=$(dirname "$(dirname "$(readlink "$TOOLS_BIN/rustc")")")
  export RUSTUP_TOOLCHAIN
fi

# The versions that this project is built with (see docs/adr/0002-toolchain.md).
# shellcheck disable=SC2034  # read by the scripts that source this file
{
RUST_MIN_MINOR=96
CARGO_LEPTOS_VERSION=0.3.11
WASM_BINDGEN_VERSION=0.2.130
NEXTEST_VERSION=0.9.143
NODE_MIN_MAJOR=20
# The packages of the native build. `frontend` is the other one: `app` can't be both in one graph.
NATIVE_PACKAGES=(-p domain -p app -p backend -p server)
# The release build as one unit: program, site and the hashes of the site's files.
DIST=$ROOT/target/dist
}

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
die() { printf '\033[1;31merror:\033[0m %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# Installs Debian packages, as root or through sudo; asks nothing.
apt_install() {
  have apt-get || die "these packages are needed and this system has no apt-get: $* (see README.md, Other systems)"
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    have sudo || die "these packages are needed: $*; install them as root, or install sudo"
    as_root=(sudo -n)
  fi
  say "installing Debian packages: $*"
  local log=$CACHE/apt.log
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends)
  if ! "${as_root[@]}" "${install[@]}" "$@" >"$log" 2>&1; then
    "${as_root[@]}" apt-get update >"$log" 2>&1 || die "apt-get update failed; its output is in $log"
    "${as_root[@]}" "${install[@]}" "$@" >>"$log" 2>&1 || die "apt-get could not install $*; its output is in $log"
  fi
}

# Installs a program of the build from the crate registry: prebuilt where cargo-binstall can, else built.
cargo_tool() { # crate version extra-flags...
  local crate=$1 version=$2; shift 2
  if have cargo-binstall && timeout 300 cargo binstall -y --no-confirm --root "$TOOLS" "$crate@$version" >"$CACHE/$crate.log" 2>&1; then
    return 0
  fi
  say "building $crate $version from source (some minutes, once)"
  # The crate's own release profile links for over ten minutes; speed of this tool is no concern.
  CARGO_TARGET_DIR=$CACHE/tools-target CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
    cargo install --root "$TOOLS" "$crate@$version" "$@" >"$CACHE/$crate.log" 2>&1 ||
    die "$crate $version could not be built; its output is in $CACHE/$crate.log"
}

# The minor version of a rustc ("1.96.0" -> 96), 0 where it can't be run.
rustc_minor() {
  local v
  v=$("$1" --version 2>/dev/null | sed -nE 's/^rustc 1\.([0-9]+)\..*/\1/p') || true
  echo "${v:-0}"
}

has_wasm_std() {
  local sysroot
  sysroot=$("$1" --print sysroot 2>/dev/null) || return 1
  compgen -G "$sysroot/lib/rustlib/wasm32-unknown-unknown/lib/libstd-*.rlib" >/dev/null
}

sha256() { if have sha256sum; then sha256sum; else shasum -a 256; fi | cut -d' ' -f1; }

# One digest of names and contents of all files under the given paths that git would commit.
digest_of() {
  (cd "$ROOT" && {
    git ls-files -z -co --exclude-standard -- "$@" 2>/dev/null || find "$@" -type f -print0
  } | xargs -0 cksum 2>/dev/null | sort | sha256)
}

# The first free TCP port of this machine from the given one on.
free_port() {
  local port=$1
  while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
  echo "$port"
}

# Everything that the built program must be told about its site, for any command that starts it.
use_dist() {
  export STARARENA_BIN=$DIST/stararena
  export LEPTOS_OUTPUT_NAME=stararena LEPTOS_SITE_ROOT=$DIST/site LEPTOS_SITE_PKG_DIR=pkg LEPTOS_HASH_FILES=true
}
