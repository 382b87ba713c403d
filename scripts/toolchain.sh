#!/usr/bin/env bash
# One Rust toolchain (>= 1.96) that builds native and wasm32-unknown-unknown.
# Order: what is on PATH; rustup, where it can download; Debian's rustc-web, whose WebAssembly
# standard library is built here once. Safe to run again: it changes nothing when all is there.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

ready() { [ "$(rustc_minor "$1")" -ge "$RUST_MIN_MINOR" ] && has_wasm_std "$1"; }

use_folder() { # links a toolchain's programs into the tools folder, ahead of any other on PATH
  local program
  for program in cargo rustc rustdoc rustfmt cargo-fmt cargo-clippy clippy-driver; do
    if [ -x "$1/$program" ]; then ln -sfn "$1/$program" "$TOOLS_BIN/$program"; fi
  done
  export RUSTUP_TOOLCHAIN=${1%/bin}
}

try_rustup() {
  have rustup || return 1
  if [ "$(rustc_minor rustc)" -lt "$RUST_MIN_MINOR" ]; then
    say "asking rustup for Rust 1.$RUST_MIN_MINOR"
    timeout 300 rustup toolchain install "1.$RUST_MIN_MINOR" --profile minimal -c clippy -c rustfmt \
      -t wasm32-unknown-unknown >"$CACHE/rustup.log" 2>&1 || return 1
    use_folder "$(dirname "$(rustup which --toolchain "1.$RUST_MIN_MINOR" rustc)")"
  else
    say "asking rustup for the wasm32-unknown-unknown target"
    timeout 300 rustup target add wasm32-unknown-unknown >"$CACHE/rustup.log" 2>&1 || return 1
  fi
  hash -r
  ready rustc
}

build_wasm_std() {
  local sysroot host work lib
  sysroot=$(/usr/bin/rustc --print sysroot)
  host=$(/usr/bin/rustc -vV | sed -n 's/^host: //p')
  lib=$sysroot/lib/rustlib/wasm32-unknown-unknown/lib
  local as_root=(); [ "$(id -u)" = 0 ] || as_root=(sudo -n)
  if ! compgen -G "$lib/libstd-*.rlib" >/dev/null; then
    say "building the WebAssembly standard library once (about a minute)"
    work=$(mktemp -d)
    mkdir -p "$work/src"
    : >"$work/src/lib.rs"
    printf '[package]\nname = "empty"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n' >"$work/Cargo.toml"
    (cd "$work" && PATH="/usr/bin:$PATH" RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR="$work/target" /usr/bin/cargo build --release \
      --target wasm32-unknown-unknown -Zbuild-std=std,panic_abort,panic_unwind,proc_macro,test) >"$CACHE/wasm-std.log" 2>&1 ||
      die "the WebAssembly standard library could not be built; its output is in $CACHE/wasm-std.log"
    "${as_root[@]}" mkdir -p "$lib"
    "${as_root[@]}" cp "$work"/target/wasm32-unknown-unknown/release/deps/*.rlib "$lib/"
    rm -rf "$work"
  fi
  local linker=$sysroot/lib/rustlib/$host/bin/rust-lld
  if [ ! -e "$linker" ]; then
    "${as_root[@]}" mkdir -p "$(dirname "$linker")"
    "${as_root[@]}" ln -sfn "$(command -v lld-22)" "$linker"
  fi
}

debian_toolchain() {
  { [ "$(rustc_minor /usr/bin/rustc)" -ge "$RUST_MIN_MINOR" ] && have lld-22 && [ -x /usr/bin/clippy-driver ] &&
    [ -x /usr/bin/rustfmt ] && [ -d /usr/lib/rustlib/src/rust ]; } ||
    apt_install rustc-web cargo-web rust-web-src lld-22 rust-web-clippy rustfmt-web gcc libc6-dev
  build_wasm_std
  use_folder /usr/bin
  hash -r
}

if ready rustc; then exit 0; fi
try_rustup || debian_toolchain
ready rustc || die "no Rust >= 1.$RUST_MIN_MINOR with the wasm32-unknown-unknown target could be set up; install it with rustup (see README.md, Other systems)"
say "using $(rustc --version)"
