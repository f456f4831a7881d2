// SPDX-License-Identifier: Apache-2.0
#include "io/pieces.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "convolume/error.hpp"
#include "core/system/system.hpp"
#include "io/jobs.hpp"
#include "io/samples.hpp"

namespace convolume::io {
namespace {

constexpr index_t page_bytes = 1 << 16;  // a multiple of every system's page size
/// Least bytes of a mapping. It holds many pieces, since the system limits their number.
constexpr index_t least_mapping_bytes = index_t{64} << 20;

}  // namespace

PieceMemory::PieceMemory(std::string folder, index_t piece_bytes, index_t most_bytes)
    : folder_(std::move(folder)),
      piece_bytes_(piece_bytes),
      most_in_ram_(std::max<index_t>(most_bytes / piece_bytes, 1)),
      mapping_bytes_(round_up(std::max(piece_bytes, least_mapping_bytes), page_bytes)) {}

PieceMemory::~PieceMemory() {
    for (void* const mapping : mapped_) ::munmap(mapping, static_cast<std::size_t>(mapping_bytes_));
    if (descriptor_ >= 0) system::close_file(descriptor_);
}

char* PieceMemory::allocate() {
    if (free_.empty()) {
        if (static_cast<index_t>(in_ram_.size()) < most_in_ram_) {
            in_ram_.emplace_back(new char[static_cast<std::size_t>(piece_bytes_)]);
            free_.push_back(in_ram_.back().get());
        } else {
            add_mapping();
        }
    }
    char* const piece = free_.back();
    free_.pop_back();
    ++used_pieces_;
    return piece;
}

void PieceMemory::give_back(char* piece) {
    free_.push_back(piece);
    --used_pieces_;
}

void PieceMemory::add_mapping() {
    const auto refuse = [&](int reason) {
        throw IoError(message("pieces of a compressed image wait for their other samples, and ",
                              folder_, " has no space for them: ", std::strerror(reason),
                              "; free some space, or write without compression"));
    };
    if (descriptor_ < 0) descriptor_ = system::open_nameless_file(folder_);
    if (descriptor_ < 0) refuse(errno);
    const index_t offset = file_bytes();
    // Without reserved space, a full disk would end the process at a write to the mapping.
    if (const int error = system::reserve_space(descriptor_, offset, mapping_bytes_); error != 0)
        refuse(error);
    mapped_.reserve(mapped_.size() + 1);
    void* const mapping = ::mmap(nullptr, static_cast<std::size_t>(mapping_bytes_),
                                 PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, offset);
    if (mapping == MAP_FAILED) refuse(errno);
    mapped_.push_back(mapping);
    for (index_t begin = 0; begin <= mapping_bytes_ - piece_bytes_; begin += piece_bytes_)
        free_.push_back(static_cast<char*>(mapping) + begin);
}

namespace {

/// Bytes whose compression takes longer than starting a thread.
constexpr index_t coded_bytes_a_thread = index_t{128} << 10;

[[noreturn]] void refuse_second_write(const Piece& piece) {
    throw InvalidArgument(
        message("samples of the piece at z, y, x = ", to_string(piece.box.begin, ", "),
                " were written twice; write each of them once"));
}

}  // namespace

PieceRange::PieceRange(const Box3& box, const Shape3& piece) {
    for (int axis = 0; axis < 3; ++axis) {
        first[axis] = box.begin[axis] / piece[axis];
        counts[axis] = ceil_div(box.end[axis], piece[axis]) - first[axis];
    }
}

Index3 PieceRange::at(index_t i) const {
    return {first.z + i / (counts.y * counts.x), first.y + i / counts.x % counts.y,
            first.x + i % counts.x};
}

Box3 relative_to(const Box3& box, const Index3& origin) {
    Box3 result = box;
    for (int axis = 0; axis < 3; ++axis) {
        result.begin[axis] -= origin[axis];
        result.end[axis] -= origin[axis];
    }
    return result;
}

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

Piece PieceAssembler::piece_at(index_t volume, const Index3& index) const {
    Piece piece;
    piece.volume = volume;
    piece.number = ((volume * grid_.z + index.z) * grid_.y + index.y) * grid_.x + index.x;
    for (int axis = 0; axis < 3; ++axis) {
        piece.box.begin[axis] = index[axis] * format_.piece[axis];
        piece.box.end[axis] =
            std::min(piece.box.begin[axis] + format_.piece[axis], format_.shape[axis]);
    }
    return piece;
}

void PieceAssembler::add(index_t volume, const Box3& box, const ConstImageView& source,
                         const PieceConsumer& consume) {
    if (box.empty()) return;
    const PieceRange range(box, format_.piece);
    const index_t pieces = element_count(range.counts);
    const index_t bytes = element_count(source.shape) * static_cast<index_t>(size_of(source.type));
    run_jobs(pieces, job_threads(pieces, bytes, coded_bytes_a_thread),
             [&](index_t i) { add_to_piece(piece_at(volume, range.at(i)), box, source, consume); });
}

void PieceAssembler::add_to_piece(const Piece& piece, const Box3& box, const ConstImageView& source,
                                  const PieceConsumer& consume) {
    const Box3 common = intersection(piece.box, box);
    const ConstImageView samples = subview(source, relative_to(common, box.begin));
    if (common == piece.box) {
        mark_complete(piece);
        consume(piece, samples);
        return;
    }
    char* const memory = find_or_begin(piece);
    const ImageView whole{memory, format_.type, piece.box.shape(),
                          contiguous_strides(piece.box.shape())};
    // Other threads may copy other samples of the piece at the same time.
    copy_view(samples, subview(whole, relative_to(common, piece.box.begin)));
    if (!count_samples(piece, element_count(common.shape()))) return;
    consume(piece, whole);
    const std::lock_guard lock(mutex_);
    memory_.give_back(memory);
}

void PieceAssembler::mark_complete(const Piece& piece) {
    const std::lock_guard lock(mutex_);
    const auto number = static_cast<std::size_t>(piece.number);
    if (complete_[number] || incomplete_.count(piece.number) > 0) refuse_second_write(piece);
    complete_[number] = true;
}

char* PieceAssembler::find_or_begin(const Piece& piece) {
    const std::lock_guard lock(mutex_);
    if (complete_[static_cast<std::size_t>(piece.number)]) refuse_second_write(piece);
    const auto found = incomplete_.find(piece.number);
    if (found != incomplete_.end()) return found->second.samples;
    char* const samples = memory_.allocate();
    incomplete_[piece.number] = {samples, element_count(piece.box.shape())};
    return samples;
}

bool PieceAssembler::count_samples(const Piece& piece, index_t samples) {
    const std::lock_guard lock(mutex_);
    const auto found = incomplete_.find(piece.number);
    if (found == incomplete_.end() || (found->second.missing -= samples) > 0) return false;
    incomplete_.erase(found);
    complete_[static_cast<std::size_t>(piece.number)] = true;
    return true;
}

Hdf5ChunkCache::Chunk Hdf5ChunkCache::get(const Key& key, index_t bytes,
                                          const std::function<Chunk()>& decode) {
    std::shared_ptr<DecodedChunk> decoded;
    {
        const std::lock_guard lock(mutex_);
        const auto found = entries_.find(key);
        if (found != entries_.end()) {
            uses_.splice(uses_.begin(), uses_, found->second.last_use);
            decoded = found->second.decoded;
        } else {
            decoded = std::make_shared<DecodedChunk>();
            uses_.push_front(key);
            entries_.emplace(key, CacheEntry{decoded, bytes, uses_.begin()});
            bytes_ += bytes;
            while (bytes_ > most_bytes_ && uses_.size() > 1) {
                const auto last = entries_.find(uses_.back());
                bytes_ -= last->second.bytes;
                entries_.erase(last);
                uses_.pop_back();
            }
        }
    }
    // The second thread waits here for the first. If decoding fails, each thread tries anew.
    const std::lock_guard lock(decoded->mutex);
    if (!decoded->chunk) decoded->chunk = decode();
    return decoded->chunk;
}

}  // namespace convolume::io
