// SPDX-License-Identifier: Apache-2.0
#include "io/piece_assembler.hpp"

#include "io/jobs.hpp"
#include "io/strided.hpp"

namespace convolume::io {
namespace {

/// Coding fewer bytes takes less time than starting a thread.
constexpr index_t bytes_a_thread = index_t{128} << 10;

Box3 moved(const Box3& box, const Index3& origin) {
    Box3 result = box;
    for (int axis = 0; axis < 3; ++axis) {
        result.begin[axis] -= origin[axis];
        result.end[axis] -= origin[axis];
    }
    return result;
}

}  // namespace

PieceAssembler::PieceAssembler(const StackFormat& format) : format_(format) {
    for (int axis = 0; axis < 3; ++axis)
        grid_[axis] = ceil_div(format.shape[axis], format.piece[axis]);
    complete_.resize(
        static_cast<std::size_t>(checked_multiply(element_count(grid_), format.volumes())));
}

index_t PieceAssembler::waiting_bytes() const {
    const std::lock_guard lock(mutex_);
    return waiting_bytes_;
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
    run_jobs(pieces, job_threads(pieces, bytes, bytes_a_thread), [&](index_t i) {
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
    const std::shared_ptr<Partial> partial = begin_part(piece);
    const ImageView whole{partial->samples.get(), format_.type, piece.box.shape(),
                          contiguous_strides(piece.box.shape())};
    // Others write other samples of it meanwhile.
    copy_view(samples, subview(whole, moved(common, piece.box.begin)));
    if (finish_part(piece, element_count(common.shape()))) use(piece, whole);
}

void PieceAssembler::begin_whole(const Piece& piece) {
    const std::lock_guard lock(mutex_);
    const auto number = static_cast<std::size_t>(piece.number);
    if (complete_[number] || partial_.count(piece.number) > 0)
        throw InvalidArgument(message("samples from ", to_string(piece.box.begin, ", "),
                                      " (z, y, "
                                      "x) on were written twice; write each of them once"));
    complete_[number] = true;
}

std::shared_ptr<PieceAssembler::Partial> PieceAssembler::begin_part(const Piece& piece) {
    const std::lock_guard lock(mutex_);
    if (complete_[static_cast<std::size_t>(piece.number)])
        throw InvalidArgument(message("samples from ", to_string(piece.box.begin, ", "),
                                      " (z, y, "
                                      "x) on were written twice; write each of them once"));
    std::shared_ptr<Partial>& partial = partial_[piece.number];
    if (!partial) {
        const index_t samples = element_count(piece.box.shape());
        const index_t bytes = samples * static_cast<index_t>(size_of(format_.type));
        partial = std::make_shared<Partial>();
        partial->samples.reset(new char[static_cast<std::size_t>(bytes)]);
        partial->missing = samples;
        waiting_bytes_ += bytes;
    }
    return partial;
}

bool PieceAssembler::finish_part(const Piece& piece, index_t samples) {
    const std::lock_guard lock(mutex_);
    const auto found = partial_.find(piece.number);
    if (found == partial_.end() || (found->second->missing -= samples) > 0) return false;
    partial_.erase(found);
    complete_[static_cast<std::size_t>(piece.number)] = true;
    waiting_bytes_ -=
        element_count(piece.box.shape()) * static_cast<index_t>(size_of(format_.type));
    return true;
}

}  // namespace convolume::io
