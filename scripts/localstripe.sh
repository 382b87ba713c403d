#!/usr/bin/env bash
# localstripe from PyPI: a stand-in of Stripe's interface that others wrote, which the tests run as a process of
# its own. It is under the GPL, and no part of the program.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=1.15.10
folder=$CACHE/localstripe/$version
[ ! -e "$folder/ready" ] || exit 0

{ have python3 && python3 -c 'import ensurepip, venv' 2>/dev/null; } || apt_install python3 python3-venv
say "installing localstripe $version from PyPI"
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
log=$CACHE/localstripe.log
{
  # Its handlers are written for the third version of this library.
  python3 -m venv "$folder" && "$folder/bin/python" -m pip install --disable-pip-version-check "localstripe==$version" 'aiohttp>=3.9,<4' &&
    "$folder/bin/python" -c 'import localstripe.server'
} >"$log" 2>&1 || die "localstripe $version could not be installed; its output is in $log"
touch "$folder/ready"
