// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <vector>

#include "convolume/error.hpp"
#include "core/check_memory.hpp"
#include "core/pixels/rows.hpp"
#include "core/thread_team.hpp"
#include "core/threads.hpp"

namespace convolume {

namespace {

// float64 holds every real type but loses nothing of it; complex128 likewise.
template <class T>
ClampCount convert(const ConstImageView& from, const ImageView& to, int threads) {
    const Shape3& shape = from.shape;
    const std::vector<index_t> identity = identity_indices(shape.x);
    const pixels::RowGather gather(identity);
    std::atomic<index_t> low{0};
    std::atomic<index_t> high{0};
    parallel_ranges(shape.z * shape.y, threads, [&](index_t begin, index_t end, int) {
        std::vector<T> row(static_cast<std::size_t>(shape.x));
        for (index_t k = begin; k < end; ++k) {
            const index_t z = k / shape.y;
            const index_t y = k % shape.y;
            pixels::load_row(from, z, y, gather, {}, row.data());
            const ClampCount of_row = pixels::store_row(row.data(), shape.x, 0, to, z, y);
            low += of_row.low;
            high += of_row.high;
        }
    });
    return {low, high};
}

// Rows are converted one by one: in place where every element is as large and where it was.
bool same_elements(const ConstImageView& a, const ConstImageView& b) {
    return a.data == b.data && a.strides == b.strides && size_of(a.type) == size_of(b.type);
}

}  // namespace

ClampCount convert_pixels(const ConstImageView& from, const ImageView& to, int threads) {
    if (from.shape != to.shape)
        throw InvalidArgument(message("an image of ", to_string(from.shape),
                                      " cannot be converted into one of ", to_string(to.shape)));
    if (is_complex(from.type) && !is_complex(to.type))
        throw InvalidArgument(message("a complex image cannot be stored as ", to_string(to.type),
                                      ": use complex64 or complex128"));
    if (element_count(from.shape) == 0) return {};
    check_memory(from, "the source");
    check_memory(to, "the target");
    if (overlap(from, to) && !same_elements(from, to))
        throw InvalidArgument(
            "source and target overlap in memory: convert into memory of its own");
    threads = thread_count(threads);
    return is_complex(from.type) || is_complex(to.type)
               ? convert<std::complex<double>>(from, to, threads)
               : convert<double>(from, to, threads);
}

}  // namespace convolume
