// SPDX-License-Identifier: Apache-2.0
#include "deskew/plan.hpp"

#include <algorithm>
#include <optional>

#include "convolume/engines.hpp"
#include "convolume/options.hpp"
#include "core/threads.hpp"
#include "deskew/block.hpp"

namespace convolume::deskewing {

namespace {

// Bytes of planes that are read and written at a time if each plane is for itself: more would not
// be faster.
constexpr index_t enough_bytes = index_t{32} << 20;
// Least number of blocks of a rotated volume: the first is read, and the last written, while
// nothing is computed.
constexpr index_t least_blocks = 16;

class Divider {
  public:
    Divider(const Geometry& geometry, const DeskewOptions& options, const StoredTypes& storage)
        : geometry_(geometry), options_(options), storage_(storage) {}

    /// Returns the division into blocks of so many planes and rows.
    ResultDivision division(index_t planes, index_t rows, bool overlapped) const {
        ResultDivision made;
        const Shape3& result = geometry_.result;
        made.block = {planes, rows, result.x};
        made.count = {ceil_div(result.z, planes), ceil_div(result.y, rows), 1};
        made.overlapped = overlapped;
        made.read = {1, 1, geometry_.recorded.x};
        for (index_t i = 0; i < made.blocks(); ++i) {
            const Shape3 read =
                needed_box(geometry_, options_.interpolation, made.at(i, result)).shape();
            made.read = {std::max(made.read.z, read.z), std::max(made.read.y, read.y), made.read.x};
        }
        const index_t one =
            checked_add(bytes(made.read, storage_.recorded), bytes(made.block, storage_.result));
        const index_t threads = thread_count(options_.threads);
        made.host_bytes =
            checked_add(checked_multiply((overlapped ? 2 : 1) + (is_turned() ? 1 : 0), one),
                        checked_multiply(threads, scratch_bytes(geometry_, storage_.recorded)));
        return made;
    }

    /// Returns the largest number of planes of a block with which it fits, or nothing.
    std::optional<ResultDivision> fit_planes(index_t most_planes, index_t rows, index_t limit,
                                             bool overlapped) const {
        for (index_t planes = most_planes;; planes = ceil_div(planes, 2)) {
            const ResultDivision made = division(planes, rows, overlapped);
            if (made.host_bytes <= limit) return made;
            if (planes == 1) return {};
        }
    }

  private:
    // Whether blocks are also held with rows and columns exchanged.
    bool is_turned() const { return options_.scan.axis == ShearAxis::x; }
    static index_t bytes(const Shape3& shape, PixelType type) {
        return checked_multiply(element_count(shape), static_cast<index_t>(size_of(type)));
    }

    const Geometry& geometry_;
    const DeskewOptions& options_;
    const StoredTypes& storage_;
};

// Returns the largest number of planes of a block: enough for fast reading, in whole pieces of the
// file, or a share of a volume that is rotated.
index_t most_planes(const Geometry& geometry, const StoredTypes& storage) {
    if (!geometry.planes_coincide) return ceil_div(geometry.result.z, least_blocks);
    const index_t plane = checked_multiply(checked_multiply(geometry.result.y, geometry.result.x),
                                           static_cast<index_t>(size_of(storage.result)));
    const index_t planes = std::max<index_t>(enough_bytes / std::max<index_t>(plane, 1), 1);
    const index_t piece = std::max<index_t>(storage.planes_of_piece, 1);
    return std::min(planes >= piece ? planes / piece * piece : planes, geometry.result.z);
}

double read_samples(const ResultDivision& division) {
    return static_cast<double>(division.blocks()) * static_cast<double>(division.read.z) *
           static_cast<double>(division.read.y);
}

}  // namespace

Box3 ResultDivision::at(index_t block_number, const Shape3& result) const {
    const index_t z = block_number / count.y * block.z, y = block_number % count.y * block.y;
    return {{z, y, 0},
            {std::min(z + block.z, result.z), std::min(y + block.y, result.y), result.x}};
}

ResultDivision divide(const Geometry& geometry, const DeskewOptions& options,
                      const StoredTypes& storage) {
    const index_t limit = host_limit_bytes(options.max_host_bytes);
    const Divider divider(geometry, options, storage);
    const index_t planes = most_planes(geometry, storage);
    index_t least_bytes = INT64_MAX;
    for (const bool overlapped : {true, false}) {
        std::optional<ResultDivision> best;
        for (index_t rows = geometry.result.y;; rows = ceil_div(rows, 2)) {
            const auto fitting = divider.fit_planes(planes, rows, limit, overlapped);
            if (fitting && (!best || read_samples(*fitting) < read_samples(*best))) best = fitting;
            // Planes that are only shifted are read once, however many rows a block has.
            const bool is_largest =
                rows == geometry.result.y && fitting && fitting->block.z == planes;
            if (rows == 1 || is_largest || (best && geometry.planes_coincide)) break;
        }
        if (best) return *best;
        least_bytes = divider.division(1, 1, overlapped).host_bytes;
    }
    throw OutOfMemory(sentence("deskewing takes at least ", format_bytes(least_bytes),
                               ", and the limit is ", format_bytes(limit), "; raise it (",
                               OptionName{"max_host_bytes"}, ")"));
}

}  // namespace convolume::deskewing
