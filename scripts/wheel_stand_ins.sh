#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes stand-ins for libraries that Debian's HDF5 and libtiff load and that a wheel must not have.
#   scripts/wheel_stand_ins.sh FOLDER [TOOLS [SYSROOT]]
# TOOLS is the beginning of the names of the compiler and the binary tools, such as aarch64-linux-gnu-, and
# SYSROOT the folder that has the libraries of such machines.
# libcurl and libcrypto, by which HDF5 reads from S3, would add 20 libraries for networks and encryption,
# which convolume never calls. All functions of their stand-ins return 0. If a program opens a file in S3,
# HDF5 reports a failure, as curl_easy_init returns no handle.
# libjbig, by which libtiff reads and writes JBIG, is under the GPL. The functions of its stand-in report
# failures, so that libtiff refuses TIFF files that are compressed by JBIG.
set -eu
folder=$1
tools=${2:-}
sysroot=${3:-}
compile() {
    "${tools}gcc" ${sysroot:+--sysroot="$sysroot"} "$@"
}
hdf5=$(compile -print-file-name=libhdf5_serial.so)
tiff=$(compile -print-file-name=libtiff.so)
rm -rf "$folder"
mkdir -p "$folder"

# libraries_of LIBRARY PATTERN: prints the names of the libraries that match and that LIBRARY loads.
libraries_of() {
    readelf -d "$1" | sed -n "s/.*NEEDED.*\[\(lib\($2\)\.so[^]]*\)\]/\1/p"
}
# stand_in LIBRARY [LINKER_OPTION]: compiles the functions in the file "calls.c".
stand_in() {
    name=$1
    shift
    compile -shared -fPIC -fno-builtin -O1 -s -o "$folder/$name" -Wl,-soname,"$name" "$@" "$folder/calls.c"
}

for library in $(libraries_of "$hdf5" 'curl\|crypto'); do
    case $library in
        libcurl*) family=CURL ;;
        *) family=OPENSSL ;;
    esac
    # Lists the functions that HDF5 calls, as "(VERSION) function".
    "${tools}objdump" -T "$hdf5" | sed -n "s/.*\*UND\*.*(\(${family}[^)]*\)) *\(.*\)/\1 \2/p" | sort >"$folder/calls"
    awk '{ print "void* " $2 "(void) { return 0; }" }' "$folder/calls" >"$folder/calls.c"
    awk '{ names[$1] = names[$1] " " $2 ";" } END { for (version in names) print version " {" names[version] " };" }' \
        "$folder/calls" >"$folder/calls.map"
    stand_in "$library" -Wl,--version-script,"$folder/calls.map"
done

for library in $(libraries_of "$tiff" jbig); do
    {
        echo 'const char* jbg_strerror(int code) { (void)code; return "JBIG is not part of this build"; }'
        "${tools}objdump" -T "$tiff" | sed -n 's/.*\*UND\*.* \(jbg_[a-z_]*\)$/\1/p' | grep -v strerror |
            awk '{ print "int " $1 "(void) { return -1; }" }'
    } >"$folder/calls.c"
    stand_in "$library"
done
