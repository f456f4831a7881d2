// SPDX-License-Identifier: Apache-2.0
// Mutates HDF5 files: numbers behind the signatures of its structures, addresses, and messages in
// object headers. Newer structures have checksums, so that the library seldom reads on after
// changes in them; the old structures have none.

#include "tests/campaign/fuzz/mutation.hpp"

namespace {

using convolume::testing::ByteOrder;
using convolume::testing::Mutation;

constexpr std::array<std::string_view, 18> signatures{
    "\x89HDF", "TREE", "HEAP", "SNOD", "GCOL", "OHDR", "OCHK", "FRHP", "FHDB",
    "FHIB",    "BTHD", "BTLF", "BTIN", "FADB", "FAHD", "EAHD", "EAIB", "EADB"};

constexpr std::uint32_t word_of(std::string_view text) {
    std::uint32_t word = 0;
    for (std::size_t i = 4; i-- > 0;) word = word << 8 | static_cast<unsigned char>(text[i]);
    return word;
}

constexpr auto words = [] {
    std::array<std::uint32_t, signatures.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = word_of(signatures[i]);
    return all;
}();

/// Returns the positions of structures with a signature.
std::vector<std::size_t> find_structures(const Mutation& file) {
    std::vector<std::size_t> found;
    for (std::size_t at = 0; file.holds(at, 4) && found.size() < 64; at += 4) {
        const auto word = static_cast<std::uint32_t>(file.get(at, 4, ByteOrder::little));
        if (std::find(words.begin(), words.end(), word) != words.end()) found.push_back(at);
    }
    return found;
}

/// Returns the positions of 8-byte words that can be addresses in this file.
std::vector<std::size_t> find_addresses(const Mutation& file) {
    std::vector<std::size_t> found;
    for (std::size_t at = 0; file.holds(at, 8) && found.size() < 256; at += 8) {
        const std::uint64_t value = file.get(at, 8, ByteOrder::little);
        if (value >= 48 && value < file.size()) found.push_back(at);
    }
    return found;
}

bool change_field(Mutation& file) {
    constexpr std::array<std::size_t, 4> widths{1, 2, 4, 8};
    const std::size_t width = file.one_of(widths);
    switch (file.below(4)) {
        case 0: {
            const auto structures = find_structures(file);
            if (structures.empty()) return false;
            file.change_number(file.one_of(structures) + 4 + file.below(96 / width) * width, width,
                               ByteOrder::little);
            break;
        }
        case 1: {  // replaces an address by that of another structure, or of none
            const auto addresses = find_addresses(file);
            if (addresses.size() < 2) return false;
            file.put(file.one_of(addresses), 8, ByteOrder::little,
                     file.below(2) == 0 ? file.number(file.below(file.size()))
                                        : file.get(file.one_of(addresses), 8, ByteOrder::little));
            break;
        }
        case 2: {  // a field of the structure at an address: object headers of version 1
            const auto addresses = find_addresses(file);
            if (addresses.empty()) return false;
            const std::size_t header = file.get(file.one_of(addresses), 8, ByteOrder::little);
            file.change_number(header + file.below(128 / width) * width, width, ByteOrder::little);
            break;
        }
        default:
            file.change_number(file.below(file.size() / width) * width, width, ByteOrder::little);
            break;
    }
    return true;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
    return Mutation(data, size, most, seed).run(change_field);
}
