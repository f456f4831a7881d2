// SPDX-License-Identifier: Apache-2.0
// Mutates TIFF files: tags, types, counts and values in the directories, arrays that they point to,
// and the chain of directories.

#include "tests/campaign/fuzz/mutation.hpp"

namespace {

using convolume::testing::ByteOrder;
using convolume::testing::Mutation;

/// Tags that the reader or libtiff reads; 50838 and 50839 are ImageJ's, 330 is SubIFDs.
constexpr std::array<std::uint64_t, 30> tags{254, 256, 257, 258, 259, 262, 266,   270,   273, 274,
                                             277, 278, 279, 282, 283, 284, 286,   287,   296, 305,
                                             317, 320, 322, 323, 324, 325, 50838, 50839, 330, 339};
/// Compressions and values of similar tags, and other small numbers.
constexpr std::array<std::uint64_t, 16> values{0,  1,  2,  3, 4,     5,     6,     8,
                                               16, 32, 64, 8, 32773, 34925, 50000, 32946};

struct Layout {
    ByteOrder order = ByteOrder::little;
    bool big = false;  ///< whether the file is a BigTIFF
    std::size_t width() const { return big ? 8 : 4; }
    std::size_t counter() const { return big ? 8 : 2; }
    std::size_t entry() const { return big ? 20 : 12; }
};

struct Directories {
    std::vector<std::size_t> positions;  ///< position of each directory
    std::vector<std::size_t> links;      ///< where the offset of each directory is, and the final 0
    std::vector<std::size_t> entries;    ///< positions of the entries of all directories
};

Directories find_directories(const Mutation& file, const Layout& layout) {
    Directories found;
    std::size_t link = layout.big ? 8 : 4;
    while (file.holds(link, layout.width()) && found.positions.size() < 16) {
        found.links.push_back(link);
        const std::size_t at = file.get(link, layout.width(), layout.order);
        if (at == 0 || !file.holds(at, layout.counter())) break;
        found.positions.push_back(at);
        const std::size_t count =
            std::min<std::uint64_t>(file.get(at, layout.counter(), layout.order), 64);
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t entry = at + layout.counter() + i * layout.entry();
            if (file.holds(entry, layout.entry())) found.entries.push_back(entry);
        }
        link = at + layout.counter() + count * layout.entry();
    }
    return found;
}

bool change_field(Mutation& file) {
    if (!file.holds(0, 16)) return false;
    Layout layout;
    layout.order = file.holds(0, "MM") ? ByteOrder::big : ByteOrder::little;
    layout.big = file.get(2, 2, layout.order) == 43;
    const Directories found = find_directories(file, layout);
    if (found.entries.empty()) return false;
    const std::size_t entry = file.one_of(found.entries);
    const std::size_t count_at = entry + 4;
    const std::size_t value_at = count_at + layout.width();
    switch (file.below(9)) {
        case 0:
            file.put(entry, 2, layout.order, file.one_of(tags));
            break;
        case 1:
            file.put(entry + 2, 2, layout.order, file.below(20));
            break;
        case 2:
            file.change_number(count_at, layout.width(), layout.order);
            break;
        case 3:
            file.change_number(value_at, layout.width(), layout.order);
            break;
        case 4:  // a 16-bit value is in the first bytes of its field
            file.put(value_at, 2, layout.order, file.one_of(values));
            break;
        case 5: {  // changes a number in the array to which the entry points
            const std::size_t at =
                file.get(value_at, layout.width(), layout.order) + 2 * file.below(8);
            file.change_number(at, file.below(2) == 0 ? 2 : layout.width(), layout.order);
            break;
        }
        case 6:
            file.copy_bytes(entry, file.one_of(found.entries), layout.entry());
            break;
        case 7:  // makes the chain of directories end sooner, or never
            file.put(file.one_of(found.links), layout.width(), layout.order,
                     file.below(4) == 0 ? 0 : file.one_of(found.positions));
            break;
        default:
            file.change_number(file.one_of(found.positions), layout.counter(), layout.order);
            break;
    }
    return true;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
    return Mutation(data, size, most, seed).run(change_field);
}
