#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the first steps of a newcomer: installs a bare Debian (or Ubuntu) in a folder, clones the last
# commit into it, runs the commands of README.md there, and prints the time of each. Needs root.
#   scripts/first_start.sh [--release NAME] [FOLDER [COMMAND...]]
# NAME is a release, such as trixie; the default is that of this machine. FOLDER has the bare system and
# is kept. The default is a temporary folder, which is removed.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
[ "$(id -u)" -eq 0 ] || { echo "first_start.sh: run it as root; it uses chroot" >&2; exit 2; }
"$root"/scripts/install_packages.sh first-start

other_release=
[ "${1:-}" != --release ] || { other_release=$2; shift 2; }
temporary=
[ $# -gt 0 ] || { temporary=$(mktemp -d); set -- "$temporary"; }
bare=$1
shift
[ $# -gt 0 ] || set -- scripts/demo.sh scripts/test.sh
[ ! -e "$bare/etc" ] || { echo "first_start.sh: $bare is not empty" >&2; exit 2; }
mkdir -p "$bare"
bare=$(cd "$bare" && pwd)

# shellcheck disable=SC2154 # status is set here
trap 'status=$?
    for folder in dev/pts proc; do
        ! mountpoint -q "$bare/$folder" || umount "$bare/$folder"
    done
    [ -z "$temporary" ] || rm -rf --one-file-system "$temporary"
    exit $status' EXIT

# Takes the release, the package sources and the network settings of this machine.
# shellcheck disable=SC2016 # apt's own variables
read -r uri release < <(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' \
    'Created-By: Packages') || true
release=${other_release:-$release}
echo "making a bare $release in $bare"
log=$(mktemp)
debootstrap --variant=minbase "$release" "$bare" "$uri" >"$log" 2>&1 || {
    tail -20 "$log" >&2
    exit 1
}
rm "$log"
rm -f "$bare/etc/apt/sources.list"
cp -a /etc/apt/. "$bare/etc/apt/"
[ -z "$other_release" ] || {
    rm -rf "$bare"/etc/apt/sources.list "$bare"/etc/apt/sources.list.d/*
    echo "deb $uri $release main" >"$bare/etc/apt/sources.list"
}
# Packages that find their settings copied from this machine ask no questions.
echo 'DPkg::Options { "--force-confold"; };' >"$bare/etc/apt/apt.conf.d/90-keep-settings"
# Copies keyrings and certificates that the copied configuration may name.
for folder in /usr/share/keyrings /etc/ssl/certs /usr/share/ca-certificates \
    /usr/local/share/ca-certificates; do
    [ ! -d "$folder" ] || { mkdir -p "$bare$folder" && cp -a "$folder/." "$bare$folder/"; }
done
cp /etc/resolv.conf /etc/hosts "$bare/etc/"
[ ! -f /etc/pip.conf ] || cp /etc/pip.conf "$bare/etc/"
mount --bind /proc "$bare/proc"
mount --bind /dev/pts "$bare/dev/pts"
git clone -q "$root" "$bare/root/convolume"

environment=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
for variable in http_proxy https_proxy no_proxy PIP_CERT PIP_INDEX_URL PIP_EXTRA_INDEX_URL; do
    [ -z "${!variable:-}" ] || environment+=("$variable=${!variable}")
done
TIMEFORMAT='%R s (CPU time: user %U s, system %S s)'
status=0
for command in "$@"; do
    echo "$command:"
    { time env -i "${environment[@]}" \
        chroot "$bare" sh -c "cd /root/convolume && $command" \
        >"$bare/root/command.log" 2>&1 </dev/null; } || {
        status=1
        echo "failed; the end of what it printed:"
        tail -40 "$bare/root/command.log"
    }
    mv "$bare/root/command.log" "$bare/root/$(basename "${command%% *}").log"
done
exit $status
