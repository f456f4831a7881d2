// SPDX-License-Identifier: Apache-2.0
// What convolutions over several devices use, without a GPU: memory that all devices reach, lengths
// of any number of samples, and passes over planes of samples in place of spectra. Passes along z
// convolve in circles by direct sums. Passes along y multiply samples, so that a missing or
// repeated one changes results.

#include <stdexcept>
#include <vector>

#include "gpu/fft/planes.hpp"
#include "gpu/runtime/peer_memory.hpp"
#include "gpu/volumes/block_kernels.hpp"
#include "gpu/volumes/direct/direct_transform.hpp"
#include "gpu/volumes/pass_transform.hpp"
#include "gpu/volumes/spread_tuning.hpp"

namespace convolume::gpu {

class PeerMemory::Mapping {
  public:
    std::vector<char> bytes;
    std::vector<Part> parts;
};
PeerMemory::PeerMemory() = default;
PeerMemory::PeerMemory(const std::vector<Part>& parts, const char*)
    : mapping_(std::make_unique<Mapping>()) {
    index_t bytes = 0;
    for (const Part& part : parts) bytes += part.bytes;
    mapping_->bytes.assign(static_cast<std::size_t>(bytes), 0);
    mapping_->parts = parts;
}
PeerMemory::~PeerMemory() = default;
PeerMemory::PeerMemory(PeerMemory&&) noexcept = default;
PeerMemory& PeerMemory::operator=(PeerMemory&&) noexcept = default;
char* PeerMemory::data() const {
    return mapping_->bytes.data();
}
index_t PeerMemory::bytes_of_part(std::size_t part) const {
    return mapping_->parts[part].bytes;
}
void enable_peer_access(const std::vector<int>&) {}
void wait_for_device(int) {
    cudaDeviceSynchronize();
}

SpreadTuning& spread_tuning() {
    static SpreadTuning tuning;
    return tuning;
}

constexpr index_t longest = 4096;  ///< samples of a pass

index_t good_column_length(index_t least, bool) {
    return least <= longest ? least : 0;
}
index_t good_row_length(index_t least, bool, bool) {
    return least <= longest ? least : 0;
}
bool is_pass_length(index_t length, bool) {
    return length <= longest;
}
// Planes of several devices are never apart.
index_t plane_pass_length(index_t) {
    return 0;
}
bool has_plane_pass(index_t, int) {
    return false;
}
index_t plane_kernel_samples(index_t) {
    return 0;
}
template <class Real>
bool has_column_pass(index_t length, int) {
    return length <= longest;
}
template <class Real>
bool has_row_pass(index_t length, bool, int) {
    return length <= longest;
}
template bool has_column_pass<float>(index_t, int);
template bool has_column_pass<double>(index_t, int);
template bool has_row_pass<float>(index_t, bool, int);
template bool has_row_pass<double>(index_t, bool, int);

void describe_direct(const Block&, BlockGeometry&) {}
double direct_seconds(const Block&, double) {
    return 0;
}
void fold(const FoldArguments&, cudaStream_t) {}
void RingTransform::load_zeros(index_t, index_t, const BlockMemory&, cudaStream_t) const {
    throw std::logic_error("rings over several devices are cleared by passes");
}

namespace {

class PassesOfSamples : public PassTransform {
  public:
    using PassTransform::PassTransform;

    void prepare(const DeviceTaps& taps, const BlockMemory& memory,
                 cudaStream_t stream) const override {
        enqueue(stream, [=, this] { store_taps(taps, memory.kernel); });
    }
    void load_taps(const DeviceTaps& taps, const BlockMemory& memory,
                   cudaStream_t stream) const override {
        enqueue(stream, [=, this] { store_taps(taps, memory.ring); });
    }
    void prepare_share(const ColumnShare& share, const BlockMemory& memory,
                       cudaStream_t stream) const override {
        enqueue(stream, [=, this] {
            for (index_t tap = 0; tap < geometry_.kernel_planes; ++tap)
                for (index_t i = 0; i < share.count; ++i)
                    at(memory.kernel, tap * share.count + i) =
                        at(memory.ring, tap * geometry_.plane + share.begin + i);
        });
    }
    void load(const RowSource& source, index_t first_slot, const BlockMemory& memory,
              cudaStream_t stream) const override {
        load_rows(source, first_slot, memory, stream);
        transform_y(PassDirection::forward, {first_slot, first_slot + source.planes},
                    {0, geometry_.pitch}, memory, stream, 1);
    }
    void load_rows(const RowSource& source, index_t first_slot, const BlockMemory& memory,
                   cudaStream_t stream) const override {
        enqueue(stream, [=, this] {
            for (index_t z = 0; z < source.planes; ++z)
                for (index_t y = 0; y < source.loaded_y; ++y)
                    for (index_t x = 0; x < source.loaded_x; ++x)
                        at(memory.ring, place(first_slot + z, y, x)) =
                            *pixel(source.pixels.from_plane(z), y, x);
        });
    }
    void load_zeros(index_t first_slot, index_t planes, const BlockMemory& memory,
                    cudaStream_t stream) const override {
        enqueue(stream, [=, this] {
            for (index_t i = 0; i < planes * geometry_.plane; ++i)
                at(memory.ring, first_slot * geometry_.plane + i) = 0;
        });
    }
    void transform_y(PassDirection direction, const IndexRange& slots, const IndexRange& along_x,
                     const BlockMemory& memory, cudaStream_t stream, double) const override {
        const float factor = direction == PassDirection::forward ? forward_factor : inverse_factor;
        enqueue(stream, [=, this] {
            for (index_t slot = slots.begin; slot < slots.end; ++slot)
                for (index_t y = 0; y < geometry_.rows; ++y)
                    for (index_t x = along_x.begin; x < along_x.end; ++x)
                        at(memory.ring, place(slot, y, x)) *= factor;
        });
    }
    void convolve(const ZWindow& window, const BlockMemory& memory,
                  cudaStream_t stream) const override {
        convolve_block(window, {0, geometry_.plane}, {0, geometry_.plane, 1}, memory, stream, 1);
    }
    void convolve_block(const ZWindow& window, const ColumnShare& share, const ColumnBlock& block,
                        const BlockMemory& memory, cudaStream_t stream, double) const override {
        enqueue(stream, [=, this] {
            for (index_t row = 0; row < block.rows; ++row)
                for (index_t i = 0; i < block.columns; ++i)
                    convolve_column(window, share, memory, block.begin + row * geometry_.pitch + i);
        });
    }
    void store_rows(index_t first_slot, const RowTarget& target, const BlockMemory& memory,
                    cudaStream_t stream) const override {
        enqueue(stream, [=, this] {
            for (index_t z = 0; z < target.planes; ++z)
                for (index_t y = 0; y < target.kept_y; ++y)
                    for (index_t x = 0; x < target.kept_x; ++x)
                        *pixel(target.pixels.from_plane(z), y, x) =
                            at(memory.ring, place(first_slot + z, y, x)) /
                            (forward_factor * inverse_factor);
        });
    }
    void store(index_t, const RowTarget&, const BlockMemory&, cudaStream_t) const override {
        throw std::logic_error("programs store rows after passes along y");
    }

  private:
    static constexpr float forward_factor = 4, inverse_factor = 2;

    static float* pixel(const PixelRows& rows, index_t y, index_t x) {
        return static_cast<float*>(rows.data) + y * rows.row_stride + x;
    }
    /// Returns a sample, which is the real part of a complex one.
    static float& at(char* memory, index_t i) { return reinterpret_cast<float*>(memory)[2 * i]; }
    index_t place(index_t slot, index_t y, index_t x) const {
        return slot % geometry_.ring * geometry_.plane + y * geometry_.pitch + x;
    }
    /// Stores the taps of a kernel of one column in all columns.
    void store_taps(const DeviceTaps& taps, char* memory) const {
        for (index_t tap = 0; tap < taps.shape.z; ++tap)
            for (index_t i = 0; i < geometry_.plane; ++i)
                at(memory, tap * geometry_.plane + i) = *pixel(taps.pixels.from_plane(tap), 0, 0);
    }
    void convolve_column(const ZWindow& window, const ColumnShare& share, const BlockMemory& memory,
                         index_t column) const {
        const index_t length = geometry_.z_length;
        std::vector<double> line(static_cast<std::size_t>(length)), result(line.size());
        for (index_t i = 0; i < window.load.count; ++i)
            line[static_cast<std::size_t>((window.load.begin + i) % length)] = at(
                memory.ring, (window.load.first + i) % window.load.ring * geometry_.plane + column);
        for (index_t tap = 0; tap < geometry_.kernel_planes; ++tap) {
            const double factor = at(memory.kernel, tap * share.count + column - share.begin);
            const index_t shift = ((tap - geometry_.kernel_shift) % length + length) % length;
            for (index_t p = 0; p < length; ++p)
                result[static_cast<std::size_t>((p + shift) % length)] +=
                    line[static_cast<std::size_t>(p)] * factor;
        }
        for (index_t i = 0; i < window.store.count; ++i)
            at(memory.ring,
               (window.store.first + i) % window.store.ring * geometry_.plane + column) =
                static_cast<float>(
                    result[static_cast<std::size_t>((window.store.begin + i) % length)]);
    }
};

}  // namespace

std::unique_ptr<PassTransform> make_pass_transform(const Block& block,
                                                   const BlockGeometry& geometry) {
    return std::make_unique<PassesOfSamples>(block, geometry);
}

}  // namespace convolume::gpu
