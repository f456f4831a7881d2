// SPDX-License-Identifier: Apache-2.0
// What programs over several devices call, without a GPU: memory of the host, lengths of any number
// of samples, and passes over planes of samples in place of spectra. Passes along z convolve in
// circles by direct sums. The inverse pass along y doubles samples, and the one along x halves
// them, so that a missing or repeated pass changes results.

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/peer_memory.hpp"
#include "gpu/volumes/block_kernels.hpp"
#include "gpu/volumes/direct/direct_transform.hpp"
#include "gpu/volumes/pass_transform.hpp"
#include "gpu/volumes/spread_tuning.hpp"

namespace convolume::gpu {

void check(cudaError_t status, const char* what) {
    if (status != 0) throw std::runtime_error(what);
}
DeviceScope::DeviceScope(int device) {
    previous_ = device;
}
DeviceScope::~DeviceScope() = default;

DeviceMemory::DeviceMemory(int, index_t bytes, const char*)
    : data_(std::malloc(static_cast<std::size_t>(bytes) + 1), CountingDeleter{bytes}) {
    std::memset(data(), 0xff, static_cast<std::size_t>(bytes));  // NaN
}
void DeviceMemory::CountingDeleter::operator()(void* data) const {
    std::free(data);
}
void DeviceMemory::clear() const {
    if (data_) std::memset(data(), 0, static_cast<std::size_t>(bytes()));
}

class PeerMemory::Mapping {};
PeerMemory::PeerMemory() = default;
PeerMemory::PeerMemory(const std::vector<Part>&, const char*) {
    throw std::logic_error("folded results are not emulated");
}
PeerMemory::~PeerMemory() = default;
PeerMemory::PeerMemory(PeerMemory&&) noexcept = default;
PeerMemory& PeerMemory::operator=(PeerMemory&&) noexcept = default;
char* PeerMemory::data() const {
    return nullptr;
}
index_t PeerMemory::bytes_of_part(std::size_t) const {
    return 0;
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
void RingTransform::load_zeros(index_t, index_t, const BlockMemory&, cudaStream_t) const {}

index_t tile_samples(const BlockGeometry&) {
    return tile_columns<float>;
}

namespace {

class PassesOfSamples : public PassTransform {
  public:
    using PassTransform::PassTransform;

    void prepare(const DeviceTaps& taps, const BlockMemory& memory,
                 cudaStream_t stream) const override {
        enqueue(stream, [=, this] {
            for (index_t z = 0; z < taps.shape.z; ++z)
                sample(memory.kernel, z, 0) = *pixel(taps.pixels.from_plane(z), 0, 0);
        });
    }
    void load(const RowSource& source, index_t first_slot, const BlockMemory& memory,
              cudaStream_t stream) const override {
        enqueue(stream, [=, this] {
            for (index_t z = 0; z < source.planes; ++z)
                for (index_t y = 0; y < source.loaded_y; ++y)
                    for (index_t x = 0; x < source.loaded_x; ++x)
                        sample(memory.ring, (first_slot + z) % geometry_.ring,
                               y * geometry_.pitch + x) = *pixel(source.pixels.from_plane(z), y, x);
        });
    }
    void convolve(const ZWindow& window, const BlockMemory& memory,
                  cudaStream_t stream) const override {
        convolve_block(window, {0, geometry_.plane}, {0, geometry_.plane, 1}, memory, stream, 1);
    }
    void convolve_block(const ZWindow& window, const ColumnShare&, const ColumnBlock& block,
                        const BlockMemory& memory, cudaStream_t stream, double) const override {
        enqueue(stream, [=, this] {
            for (index_t row = 0; row < block.rows; ++row)
                for (index_t column = 0; column < block.columns; ++column)
                    convolve_column(window, memory, block.begin + row * geometry_.pitch + column);
        });
    }
    void transform_y(PassDirection direction, const IndexRange& slots, const IndexRange& along_x,
                     const BlockMemory& memory, cudaStream_t stream, double) const override {
        if (direction != PassDirection::inverse)
            throw std::logic_error("forward passes are part of load()");
        enqueue(stream, [=, this] {
            for (index_t slot = slots.begin; slot < slots.end; ++slot)
                for (index_t y = 0; y < geometry_.rows; ++y)
                    for (index_t x = along_x.begin; x < along_x.end; ++x)
                        sample(memory.ring, slot, y * geometry_.pitch + x) *= 2;
        });
    }
    void store_rows(index_t first_slot, const RowTarget& target, const BlockMemory& memory,
                    cudaStream_t stream) const override {
        enqueue(stream, [=, this] {
            for (index_t z = 0; z < target.planes; ++z)
                for (index_t y = 0; y < target.kept_y; ++y)
                    for (index_t x = 0; x < target.kept_x; ++x)
                        *pixel(target.pixels.from_plane(z), y, x) =
                            sample(memory.ring, first_slot + z, y * geometry_.pitch + x) / 2;
        });
    }
    void load_taps(const DeviceTaps&, const BlockMemory&, cudaStream_t) const override { fail(); }
    void prepare_share(const ColumnShare&, const BlockMemory&, cudaStream_t) const override {
        fail();
    }
    void load_rows(const RowSource&, index_t, const BlockMemory&, cudaStream_t) const override {
        fail();
    }
    void load_zeros(index_t, index_t, const BlockMemory&, cudaStream_t) const override { fail(); }
    void store(index_t, const RowTarget&, const BlockMemory&, cudaStream_t) const override {
        fail();
    }

  private:
    [[noreturn]] static void fail() { throw std::logic_error("a pass that is not emulated"); }
    static float* pixel(const PixelRows& rows, index_t y, index_t x) {
        return static_cast<float*>(rows.data) + y * rows.row_stride + x;
    }
    float& sample(char* memory, index_t slot, index_t place) const {
        return reinterpret_cast<float*>(memory)[2 * (slot * geometry_.plane + place)];
    }
    void convolve_column(const ZWindow& window, const BlockMemory& memory, index_t place) const {
        const index_t length = geometry_.z_length;
        std::vector<double> line(static_cast<std::size_t>(length)), result(line.size());
        for (index_t i = 0; i < window.load.count; ++i)
            line[static_cast<std::size_t>((window.load.begin + i) % length)] =
                sample(memory.ring, (window.load.first + i) % window.load.ring, place);
        for (index_t p = 0; p < length; ++p)
            for (index_t tap = 0; tap < geometry_.kernel_planes; ++tap)
                result[static_cast<std::size_t>((p + tap) % length)] +=
                    line[static_cast<std::size_t>(p)] *
                    static_cast<double>(sample(memory.kernel, tap, 0));
        for (index_t i = 0; i < window.store.count; ++i)
            sample(memory.ring, (window.store.first + i) % window.store.ring, place) =
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
