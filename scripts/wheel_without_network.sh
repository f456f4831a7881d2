#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes stand-ins for libcurl and libcrypto, by which Debian's HDF5 reads from S3. The real ones would
# add 20 libraries for networks and encryption to a wheel, which convolume never calls.
#   scripts/wheel_without_network.sh FOLDER
# All functions of the stand-ins return 0. If a program opens a file in S3, HDF5 reports a failure, as
# curl_easy_init returns no handle.
set -eu
folder=$1
hdf5=$(cc -print-file-name=libhdf5_serial.so)
rm -rf "$folder"
mkdir -p "$folder"
for library in $(readelf -d "$hdf5" | sed -n 's/.*NEEDED.*\[\(lib\(curl\|crypto\)\.so[^]]*\)\]/\1/p'); do
    case $library in
        libcurl*) family=CURL ;;
        *) family=OPENSSL ;;
    esac
    # Lists the functions that HDF5 calls, as "(VERSION) function".
    objdump -T "$hdf5" | sed -n "s/.*\*UND\*.*(\(${family}[^)]*\)) *\(.*\)/\1 \2/p" | sort >"$folder/calls"
    awk '{ print "void* " $2 "(void) { return 0; }" }' "$folder/calls" >"$folder/calls.c"
    awk '{ names[$1] = names[$1] " " $2 ";" } END { for (version in names) print version " {" names[version] " };" }' \
        "$folder/calls" >"$folder/calls.map"
    cc -shared -fPIC -fno-builtin -O1 -s -o "$folder/$library" -Wl,-soname,"$library" \
        -Wl,--version-script,"$folder/calls.map" "$folder/calls.c"
done
