#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the missing packages of scripts/packages.txt, without questions.
#   scripts/install_packages.sh [--print] [GROUP...]     default: build tests
# --print prints all packages of the groups, installed or not, and installs nothing.
set -eu
folder=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
list=$folder/packages.txt
print=
[ "${1:-}" != --print ] || { print=1; shift; }
[ $# -gt 0 ] || set -- build tests

for group in "$@"; do
    grep -q "^\[$group\]" "$list" || {
        echo "install_packages.sh: there is no group '$group'; the groups are:" \
            "$(sed -n 's/^\[\(.*\)\].*/\1/p' "$list" | tr '\n' ' ')" >&2
        exit 2
    }
done
wanted=$(awk -v groups=" $* " '
    { sub(/#.*/, "") }
    /^\[/ { inside = index(groups, " " substr($1, 2, length($1) - 2) " "); next }
    inside && NF { print $1 }' "$list")
if [ -n "$print" ]; then
    echo "$wanted"
    exit 0
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "install_packages.sh: this system has no apt; with its own package manager, install what" \
        "corresponds to these packages of Debian:" "$(echo "$wanted" | tr '\n' ' ')" >&2
    exit 1
fi

missing=
for package in $wanted; do
    case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true) in
        *' installed') ;;
        *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=sudo
else
    echo "install_packages.sh: ask an administrator to run: apt-get install$missing" >&2
    exit 1
fi
echo "installing$missing"
$as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q
# shellcheck disable=SC2086 # each word is a package
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
