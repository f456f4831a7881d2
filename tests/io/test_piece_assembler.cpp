// SPDX-License-Identifier: Apache-2.0
// Tests that boxes become whole pieces, each handed over once, as soon as it is complete.

#include <atomic>
#include <map>

#include "io/jobs.hpp"
#include "io/pieces.hpp"
#include "tests/io/io_support.hpp"

namespace convolume::testing {

TEST_CASE("pieces are handed over once and complete, for boxes of any shape", "[io]") {
    StackFormat format{{5, 7, 11}, PixelType::uint16, 1, 2, {2, 3, 4}};
    const Volume volumes[] = {random_volume(format.shape, format.type, 1),
                              random_volume(format.shape, format.type, 2)};
    for (const Shape3& step :
         {Shape3{5, 7, 11}, Shape3{1, 7, 11}, Shape3{2, 3, 4}, Shape3{1, 1, 1}, Shape3{3, 2, 5}}) {
        INFO(to_string(step));
        const MemoryFolder folder;
        // One piece is in memory, the others are in a file.
        io::PieceAssembler assembler(format, folder / "", 1);
        CHECK(assembler.pieces() == 2 * 3 * 3 * 3);
        std::mutex mutex;
        std::map<index_t, int> seen;
        bool right = true;
        const auto use = [&](const io::Piece& piece, const ConstImageView& samples) {
            const std::lock_guard lock(mutex);
            ++seen[piece.number];
            const Volume& whole = volumes[piece.volume];
            right = right && samples.shape == piece.box.shape();
            for (index_t z = 0; z < samples.shape.z; ++z)
                for (index_t y = 0; y < samples.shape.y; ++y)
                    for (index_t x = 0; x < samples.shape.x; ++x)
                        right = right && std::memcmp(samples.at(z, y, x),
                                                     whole.view().at(piece.box.begin.z + z,
                                                                     piece.box.begin.y + y,
                                                                     piece.box.begin.x + x),
                                                     2) == 0;
        };
        for (index_t v = 0; v < 2; ++v)
            for (index_t z = 0; z < 5; z += step.z)
                for (index_t y = 0; y < 7; y += step.y)
                    for (index_t x = 0; x < 11; x += step.x) {
                        const Box3 box =
                            intersection({{0, 0, 0}, format.shape},
                                         {{z, y, x}, {z + step.z, y + step.y, x + step.x}});
                        assembler.add(v, box, subview(volumes[v].view(), box), use);
                    }
        CHECK(right);
        CHECK(seen.size() == 54);
        for (const auto& [number, times] : seen) CHECK(times == 1);
        CHECK(assembler.waiting_bytes() == 0);
        CHECK_THROWS_AS(assembler.add(0, {{0, 0, 0}, {1, 1, 1}},
                                      subview(volumes[0].view(), {{0, 0, 0}, {1, 1, 1}}), use),
                        InvalidArgument);
    }
}

TEST_CASE("the assembler's memory is that of the incomplete pieces", "[io]") {
    const StackFormat format{{8, 16, 16}, PixelType::uint8, 1, 1, {4, 16, 16}};
    io::PieceAssembler assembler(format, ".");
    const Volume volume = random_volume(format.shape, format.type, 1);
    int used = 0;
    const auto use = [&](const io::Piece&, const ConstImageView&) { ++used; };
    for (index_t z = 0; z < 8; ++z) {
        const Box3 plane{{z, 0, 0}, {z + 1, 16, 16}};
        assembler.add(0, plane, subview(volume.view(), plane), use);
        CHECK(assembler.waiting_bytes() == (z % 4 == 3 ? 0 : 4 * 16 * 16));
        CHECK(used == (z + 1) / 4);
    }
}

TEST_CASE("pieces beyond the memory limit are kept in an unnamed file", "[io]") {
    const MemoryFolder folder;
    const index_t bytes = (1 << 20) + 3;
    io::PieceMemory memory(folder / "", bytes, 2 * bytes);
    std::vector<char*> pieces;
    for (int i = 0; i < 100; ++i) {
        pieces.push_back(memory.allocate());
        std::memset(pieces.back(), i, static_cast<std::size_t>(bytes));
        CHECK((memory.file_bytes() > 0) == (i >= 2));
    }
    CHECK(memory.used_bytes() == 100 * bytes);
    CHECK(memory.file_bytes() == 2 * (index_t{64} << 20));
    CHECK(folder.names().size() == 0);
    bool kept = true;
    for (int i = 0; i < 100; ++i) {
        const auto last = static_cast<std::size_t>(bytes - 1);
        kept = kept && pieces[static_cast<std::size_t>(i)][0] == static_cast<char>(i) &&
               pieces[static_cast<std::size_t>(i)][last] == static_cast<char>(i);
    }
    CHECK(kept);
    for (char* const piece : pieces) memory.give_back(piece);
    for (int i = 0; i < 100; ++i) memory.allocate();
    CHECK(memory.file_bytes() == 2 * (index_t{64} << 20));

    io::PieceMemory nowhere(folder / "missing", bytes, bytes);
    nowhere.allocate();
    CHECK_THROWS_AS(nowhere.allocate(), IoError);
}

TEST_CASE("all jobs are done unless an error ends them", "[io]") {
    for (const int threads : {1, 2, 5}) {
        std::atomic<index_t> sum{0};
        io::run_jobs(1000, threads, [&](index_t i) { sum += i; });
        CHECK(sum == 499500);
        std::atomic<int> begun{0};
        CHECK_THROWS_AS(io::run_jobs(1000, threads,
                                     [&](index_t i) {
                                         ++begun;
                                         if (i == 3) throw BadData("three");
                                     }),
                        BadData);
        if (threads == 1) CHECK(begun == 4);
    }
}

TEST_CASE("an HDF5 chunk is decoded once while the cache keeps it, and the oldest is evicted",
          "[io]") {
    io::Hdf5ChunkCache cache(30);
    int decoded = 0;
    const auto decode = [&] {
        ++decoded;
        return io::Hdf5ChunkCache::Chunk(new char[10]);
    };
    for (index_t i = 0; i < 3; ++i) cache.get({0, i}, 10, decode);
    for (index_t i = 0; i < 3; ++i) cache.get({0, i}, 10, decode);
    CHECK(decoded == 3);
    cache.get({1, 0}, 10, decode);  // evicts HDF5 chunk 0 of dataset 0
    cache.get({0, 1}, 10, decode);
    CHECK(decoded == 4);
    cache.get({0, 0}, 10, decode);  // evicts HDF5 chunk 2
    cache.get({0, 1}, 10, decode);
    CHECK(decoded == 5);
    CHECK_THROWS_AS(
        cache.get({2, 2}, 10, []() -> io::Hdf5ChunkCache::Chunk { throw BadData("x"); }), BadData);
    cache.get({2, 2}, 10, decode);
    CHECK(decoded == 6);
}

}  // namespace convolume::testing
