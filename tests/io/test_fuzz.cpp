// SPDX-License-Identifier: Apache-2.0
// Mutated files of every format are either read or refused by a typed error, and do no other harm.

#include "tests/io/io_support.hpp"

namespace convolume::testing {
namespace {

constexpr unsigned seed = 20240612;

void mutate(std::string& bytes, std::mt19937& random) {
    const auto below = [&](std::size_t limit) {
        return static_cast<std::size_t>(random()) % limit;
    };
    static const unsigned char favorites[] = {0, 1, 2, 0x7F, 0x80, 0xFF};
    for (std::size_t i = 1 + below(4); i > 0; --i) {
        const std::size_t at = below(bytes.size());
        switch (below(5)) {
            case 0:
                bytes[at] = static_cast<char>(random());
                break;
            case 1:
                bytes[at] = static_cast<char>(favorites[below(6)]);
                break;
            case 2:
                bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
                break;
            case 3:
                bytes.replace(at, std::min<std::size_t>(4, bytes.size() - at), 4,
                              static_cast<char>(favorites[below(6)]));
                break;
            default:
                if (below(8) == 0) bytes.resize(at + 1);
                break;
        }
    }
}

/// Reads `count` mutants of each seed file, and returns how many could be read.
int fuzz(const std::string& name, const std::vector<std::string>& files, int count) {
    const MemoryFolder folder;
    std::mt19937 random(seed);
    int readable = 0;
    for (const std::string& original : files)
        for (int i = 0; i < count; ++i) {
            std::string bytes = original;
            mutate(bytes, random);
            write_bytes(folder / name, bytes);
            INFO(name << " mutant " << i << " seed " << seed);
            try {
                const auto reader = io::open_image(folder / name);
                const io::ImageMetadata& m = reader->metadata();
                REQUIRE(m.bytes() < (index_t{1} << 30));
                read_channel(*reader, m.frames - 1, m.channels - 1);
                ++readable;
            } catch (const Error&) {
            }
        }
    return readable;
}

std::vector<std::string> seeds(
    const std::string& name, const std::vector<io::Compression>& compressions, index_t channels = 2,
    const std::vector<PixelType>& types = {PixelType::uint8, PixelType::float32}) {
    const MemoryFolder folder;
    std::vector<std::string> files;
    for (const auto compression : compressions)
        for (const auto type : types) {
            io::ImageMetadata m;
            m.channels = channels;
            m.shape = {3, 8, 5};
            m.type = type;
            m.voxel_size_um = {0.3, 0.1, 0.1};
            m.imagej_metadata_counts = {12, 4};
            m.imagej_metadata = {'J', 'I', 'J', 'I', 'o', 'f', 'n', 'i',
                                 1,   0,   0,   0,   'a', 0,   'b', 0};
            write_image(folder / name, m, 3, {true, compression, "fuzz"});
            files.push_back(read_bytes(folder / name));
        }
    return files;
}

}  // namespace

using io::Compression;

TEST_CASE("mutated NPY files do no harm", "[io][fuzz]") {
    CHECK(fuzz("a.npy", seeds("a.npy", {Compression::none}), 2000) > 0);
}

TEST_CASE("mutated MRC files do no harm", "[io][fuzz]") {
    CHECK(fuzz("a.mrc",
               seeds("a.mrc", {Compression::none}, 1, {PixelType::int8, PixelType::float32}),
               4000) > 0);
}

#ifdef CONVOLUME_HAVE_TIFF
TEST_CASE("mutated TIFF files do no harm", "[io][fuzz]") {
    CHECK(fuzz("a.tif",
               seeds("a.tif", {Compression::none, Compression::lzw, Compression::deflate,
                               Compression::zstd, Compression::packbits}),
               600) > 0);
    CHECK(fuzz("a.ome.tif", seeds("a.ome.tif", {Compression::none}), 1000) > 0);
}
#endif

}  // namespace convolume::testing
