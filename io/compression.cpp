// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "convolume/error.hpp"
#include "convolume/image_file.hpp"

namespace convolume::io {

namespace {

constexpr std::array<std::pair<Compression, const char*>, 5> compressions{
    {{Compression::none, "none"},
     {Compression::deflate, "deflate"},
     {Compression::lzw, "lzw"},
     {Compression::zstd, "zstd"},
     {Compression::packbits, "packbits"}}};

}  // namespace

const char* to_string(Compression compression) {
    for (const auto& [value, name] : compressions)
        if (value == compression) return name;
    throw InternalError("a compression outside its enumeration");
}

Compression parse_compression(std::string_view text) {
    for (const auto& [value, name] : compressions)
        if (text == name) return value;
    throw InvalidArgument(message("compression is none, deflate, lzw, zstd or packbits, not \"",
                                  text, "\"; choose one of these"));
}

}  // namespace convolume::io
