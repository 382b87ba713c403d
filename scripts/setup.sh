#!/usr/bin/env bash
# All that is needed to build. Safe to run again; silent and quick when nothing is missing.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

have cc || apt_install gcc libc6-dev
"$ROOT/scripts/toolchain.sh"
"$ROOT/scripts/build-tools.sh"
