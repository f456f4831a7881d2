// SPDX-License-Identifier: Apache-2.0
// Mutates WAV files: names, sizes and the order of RIFF chunks, and the content of the RIFF chunk
// with the format.

#include "tests/campaign/fuzz/mutation.hpp"

namespace {

using convolume::testing::ByteOrder;
using convolume::testing::Mutation;

constexpr std::string_view names[] = {"fmt ", "data", "LIST", "fact", "ds64",
                                      "RIFF", "RF64", "WAVE", "junk"};
/// Format tags, numbers of channels and numbers of bits.
constexpr std::array<std::uint64_t, 16> values{0,  1,  2,  3,  4,  6,  7,      8,
                                               12, 16, 20, 24, 32, 64, 0xFFFE, 0xFFFF};

bool change_field(Mutation& file) {
    std::vector<std::size_t> chunks{0};
    for (std::size_t at = 12; file.holds(at, 8) && chunks.size() < 32;) {
        chunks.push_back(at);
        const std::uint64_t bytes = file.get(at + 4, 4, ByteOrder::little);
        at += 8 + static_cast<std::size_t>(bytes + bytes % 2);
    }
    const std::size_t chunk = file.one_of(chunks);
    if (!file.holds(chunk, 8)) return false;
    switch (file.below(5)) {
        case 0:
            file.change_number(chunk + 4, 4, ByteOrder::little);
            break;
        case 1:
            file.replace(chunk, 4, file.one_of(names));
            break;
        case 2: {  // inserts an empty RIFF chunk before another one
            const std::string_view name = file.one_of(names);
            const std::size_t bytes = 2 * file.below(20);
            std::string_view empty(
                "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
                40);
            if (!file.replace(chunk, 0, empty.substr(0, bytes)) ||
                !file.replace(chunk, 0, "    ") || !file.replace(chunk, 0, name))
                return false;
            file.put(chunk + 4, 4, ByteOrder::little, bytes);
            break;
        }
        default:  // changes two or four bytes in a RIFF chunk
            if (file.below(2) == 0 && file.holds(chunk + 8 + 16, 2))
                file.put(chunk + 8 + 2 * file.below(9), 2, ByteOrder::little, file.one_of(values));
            else
                file.change_number(chunk + 8 + 4 * file.below(10), 4, ByteOrder::little);
            break;
    }
    return true;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
    return Mutation(data, size, most, seed).run(change_field);
}
