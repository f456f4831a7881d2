// SPDX-License-Identifier: Apache-2.0
#include "io/piece_assembler.hpp"

#include "io/jobs.hpp"
#include "io/strided.hpp"

namespace convolume::io {
namespace {

/// Coding fewer bytes takes less time than starting a thread.
constexpr index_t coded_bytes_a_thread = index_t{128} << 10;

Box3 moved(const Box3& box, const Index3& origin) {
    Box3 result = box;
    for (int axis = 0; axis < 3; ++axis) {
        result.begin[axis] -= origin[axis];
        result.end[axis] -= origin[axis];
    }
    return result;
}

[[noreturn]] void refuse(const Piece& piece) {
    throw InvalidArgument(
        message("samples of the piece at z, y, x = ", to_string(piece.box.begin, ", "),
                " were written twice; write each of them once"));
}

}  // namespace

PieceAssembler::PieceAssembler(const StackFormat& format, const std::string& folder,
                               index_t most_memory_bytes)
    : format_(format),
      memory_(folder, element_count(format.piece) * static_cast<index_t>(size_of(format.type)),
              most_memory_bytes) {
    for (int axis = 0; axis < 3; ++axis)
        grid_[axis] = ceil_div(format.shape[axis], format.piece[axis]);
    complete_.resize(
        static_cast<std::size_t>(checked_multiply(element_count(grid_), format.volumes())));
}

index_t PieceAssembler::waiting_bytes() const {
    const std::lock_guard lock(mutex_);
    return memory_.used_bytes();
}

Piece PieceAssembler::piece_at(index_t volume, const Index3& place) const {
    Piece piece;
    piece.volume = volume;
    piece.number = ((volume * grid_.z + place.z) * grid_.y + place.y) * grid_.x + place.x;
    for (int axis = 0; axis < 3; ++axis) {
        piece.box.begin[axis] = place[axis] * format_.piece[axis];
        piece.box.end[axis] =
            std::min(piece.box.begin[axis] + format_.piece[axis], format_.shape[axis]);
    }
    return piece;
}

void PieceAssembler::add(index_t volume, const Box3& box, const ConstImageView& source,
                         const Use& use) {
    if (box.empty()) return;
    Index3 first;
    Shape3 count;
    for (int axis = 0; axis < 3; ++axis) {
        first[axis] = box.begin[axis] / format_.piece[axis];
        count[axis] = ceil_div(box.end[axis], format_.piece[axis]) - first[axis];
    }
    const index_t pieces = element_count(count);
    const index_t bytes = element_count(source.shape) * static_cast<index_t>(size_of(source.type));
    run_jobs(pieces, job_threads(pieces, bytes, coded_bytes_a_thread), [&](index_t i) {
        const Index3 place{first.z + i / (count.y * count.x), first.y + i / count.x % count.y,
                           first.x + i % count.x};
        take(piece_at(volume, place), box, source, use);
    });
}

void PieceAssembler::take(const Piece& piece, const Box3& box, const ConstImageView& source,
                          const Use& use) {
    const Box3 common = intersection(piece.box, box);
    const ConstImageView samples = subview(source, moved(common, box.begin));
    if (common == piece.box) {
        begin_whole(piece);
        use(piece, samples);
        return;
    }
    char* const memory = begin_part(piece);
    const ImageView whole{memory, format_.type, piece.box.shape(),
                          contiguous_strides(piece.box.shape())};
    // Others write other samples of it meanwhile.
    copy_view(samples, subview(whole, moved(common, piece.box.begin)));
    if (!finish_part(piece, element_count(common.shape()))) return;
    use(piece, whole);
    const std::lock_guard lock(mutex_);
    memory_.give_back(memory);
}

void PieceAssembler::begin_whole(const Piece& piece) {
    const std::lock_guard lock(mutex_);
    const auto number = static_cast<std::size_t>(piece.number);
    if (complete_[number] || partial_.count(piece.number) > 0) refuse(piece);
    complete_[number] = true;
}

char* PieceAssembler::begin_part(const Piece& piece) {
    const std::lock_guard lock(mutex_);
    if (complete_[static_cast<std::size_t>(piece.number)]) refuse(piece);
    const auto found = partial_.find(piece.number);
    if (found != partial_.end()) return found->second.samples;
    char* const samples = memory_.take();
    partial_[piece.number] = {samples, element_count(piece.box.shape())};
    return samples;
}

bool PieceAssembler::finish_part(const Piece& piece, index_t samples) {
    const std::lock_guard lock(mutex_);
    const auto found = partial_.find(piece.number);
    if (found == partial_.end() || (found->second.missing -= samples) > 0) return false;
    partial_.erase(found);
    complete_[static_cast<std::size_t>(piece.number)] = true;
    return true;
}

}  // namespace convolume::io
