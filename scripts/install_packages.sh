#!/bin/sh
# Installs the packages of packages.txt that are missing. Asks nothing.
set -eu
folder=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
wanted=$(sed 's/#.*//' "$folder/packages.txt" | tr -s ' \t\n' ' ')

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "install_packages.sh: this system has no apt; with its own package manager, install what corresponds to:$wanted, then build as README.md says" >&2
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
# shellcheck disable=SC2086 # one word a package
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
