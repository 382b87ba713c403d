#!/usr/bin/env bash
# nginx, which the tests put in front of the program as an installation does. They start one of their own
# with a folder of its own; a service that the system may run beside it is neither needed nor touched.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

have nginx || [ -x /usr/sbin/nginx ] || apt_install nginx
