// SPDX-License-Identifier: Apache-2.0
// Reads a file of any bytes, or refuses it by a typed error. Macros: CONVOLUME_FUZZ_SIGNAL reads it
// as signals; CONVOLUME_FUZZ_NAME is the name of the file; CONVOLUME_FUZZ_BEGINS are the first
// bytes of the format's files, four for each kind. Files that begin otherwise belong to another
// format.

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "convolume/signal_file.hpp"
#include "tests/campaign/fuzz/read_input.hpp"

namespace {

/// Returns the name of the input file, in a folder of its own, in memory if the system can.
const std::string& file_name() {
    static const std::string name = [] {
        std::string folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/var/tmp";
        folder += "/convolume_fuzz." + std::to_string(getpid());
        mkdir(folder.c_str(), 0700);
        convolume::io::contain_damage(true);
        return folder + "/" + CONVOLUME_FUZZ_NAME;
    }();
    return name;
}

#ifdef CONVOLUME_FUZZ_BEGINS
bool is_of_the_format(const std::uint8_t* data, std::size_t size) {
    static const std::string beginnings(CONVOLUME_FUZZ_BEGINS, sizeof CONVOLUME_FUZZ_BEGINS - 1);
    for (std::size_t at = 0; size >= 4 && at < beginnings.size(); at += 4)
        if (std::memcmp(data, beginnings.data() + at, 4) == 0) return true;
    return false;
}
#endif

void write_file(const std::uint8_t* data, std::size_t size) {
    std::FILE* const file = std::fopen(file_name().c_str(), "wb");
    if (file == nullptr || std::fwrite(data, 1, size, file) != size || std::fclose(file) != 0)
        std::abort();
}

[[maybe_unused]] void read_signal() {
    const auto reader = convolume::io::open_signal(file_name());
    const convolume::io::SignalInfo& info = reader->info();
    if (info.samples() > convolume::testing::most_bytes / 16) return;
    convolume::Volume samples({1, 1, info.samples()}, info.type);
    reader->read(info.signals() - 1, 0, info.samples(), samples.view().data);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
#ifdef CONVOLUME_FUZZ_BEGINS
    if (!is_of_the_format(data, size)) return -1;
#endif
    write_file(data, size);
    try {
#ifdef CONVOLUME_FUZZ_SIGNAL
        read_signal();
#else
        convolume::testing::read_image(file_name());
#endif
    } catch (const convolume::Error&) {
    }
    return 0;
}
