#!/usr/bin/env bash
# The programs of Postgres and Redis. The server starts private ones of its own in its data folder;
# a service that the system may run beside them is neither needed nor touched.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

has_postgres() { have postgres || compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null; }

missing=()
has_postgres || missing+=(postgresql)
have redis-server || missing+=(redis-server)
[ ${#missing[@]} = 0 ] || apt_install "${missing[@]}"
