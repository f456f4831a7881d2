// SPDX-License-Identifier: Apache-2.0
#include "gpu/volumes/block_transform.hpp"

#include <algorithm>

#include "gpu/runtime/check.hpp"
#include "gpu/volumes/direct/direct_transform.hpp"

namespace convolume::gpu {

namespace {

template <class Real>
class FftPassTransform : public RingTransform {
  public:
    FftPassTransform(const Block& block, const BlockGeometry& geometry)
        : RingTransform(block, geometry),
          scale_(1 / (static_cast<double>(geometry.z_length) * static_cast<double>(geometry.rows) *
                      static_cast<double>(block.axes[2].grid))) {}

    void prepare(const DeviceTaps& taps, const BlockMemory& memory,
                 cudaStream_t stream) const override {
        const RowSource source = source_of(taps);
        forward(source, planes(memory.kernel, 0, geometry_.kernel_planes), stream);
        if (!keeps_spectrum()) return;
        // Transforms along z once. The kernel's memory has room for the whole spectrum.
        const index_t length = geometry_.z_length;
        transform_columns<Real>(length, PassDirection::forward, columns(memory.kernel),
                                kernel_positions(), columns(memory.kernel), {0, length, 0, length},
                                stream);
    }

    void load(const RowSource& source, index_t first_slot, const BlockMemory& memory,
              cudaStream_t stream) const override {
        for_each_run(first_slot, source.planes, [&](index_t slot, index_t begin, index_t count) {
            RowSource run = source;
            run.planes = count;
            run.pixels = source.pixels.from_plane(begin);
            forward(run, planes(memory.ring, slot, geometry_.ring), stream);
        });
    }

    void convolve(const ZWindow& window, const BlockMemory& memory,
                  cudaStream_t stream) const override {
        const index_t length = geometry_.z_length;
        if (keeps_spectrum()) {
            convolve_columns<Real>(length, columns(memory.ring), window.load, window.store,
                                   {columns(memory.kernel)}, stream);
            return;
        }
        // The kernel's spectra are made for a batch of columns at a time, so that most of them are
        // still
        // in the GPU's cache when they are read.
        for (index_t begin = 0; begin < geometry_.plane; begin += geometry_.batch_columns) {
            const index_t count = std::min(geometry_.batch_columns, geometry_.plane - begin);
            const auto batch_of = [&](char* data) {
                Columns<Real> batch = columns(data);
                batch.data += begin;
                batch.columns = count;
                return batch;
            };
            Columns<Real> spectra;
            spectra.data = reinterpret_cast<std::complex<Real>*>(memory.batch);
            spectra.slot_stride = count;
            spectra.columns = count;
            transform_columns<Real>(length, PassDirection::forward, batch_of(memory.kernel),
                                    kernel_positions(), spectra, {0, length, 0, length}, stream);
            convolve_columns<Real>(length, batch_of(memory.ring), window.load, window.store,
                                   {spectra}, stream);
        }
    }

    void store(index_t first_slot, const RowTarget& target, const BlockMemory& memory,
               cudaStream_t stream) const override {
        for_each_run(first_slot, target.planes, [&](index_t slot, index_t begin, index_t count) {
            Columns<Real> rows = columns_of_planes(memory.ring, slot, count);
            const index_t length = geometry_.rows;
            transform_columns<Real>(
                length, PassDirection::inverse, rows, {0, length, 0, length}, rows,
                {target.kept_begin_y, target.kept_y, target.kept_begin_y, length}, stream);
            RowTarget run = target;
            run.planes = count;
            run.pixels = target.pixels.from_plane(begin);
            inverse_rows<Real>(block_.axes[2].grid, block_.complex_data,
                               planes(memory.ring, slot, geometry_.ring), run, scale_, stream);
        });
    }

  private:
    bool keeps_spectrum() const { return geometry_.keeps_spectrum; }

    void forward(const RowSource& source, const SpectrumPlanes<Real>& target,
                 cudaStream_t stream) const {
        forward_rows<Real>(block_.axes[2].grid, block_.complex_data, source, target, stream);
        const Columns<Real> rows = columns_of_planes(reinterpret_cast<char*>(target.data),
                                                     target.first_plane, source.planes);
        const index_t length = geometry_.rows;
        transform_columns<Real>(length, PassDirection::forward, rows,
                                {0, source.loaded_y, 0, length}, rows, {0, length, 0, length},
                                stream);
    }

    PositionMap kernel_positions() const {
        const index_t length = geometry_.z_length;
        return {(length - geometry_.kernel_shift) % length, geometry_.kernel_planes, 0,
                keeps_spectrum() ? length : geometry_.kernel_planes};
    }

    SpectrumPlanes<Real> planes(char* data, index_t first_slot, index_t ring) const {
        return {reinterpret_cast<std::complex<Real>*>(data), geometry_.plane, geometry_.pitch,
                first_slot, ring};
    }

    // Returns columns along z: slots are planes.
    Columns<Real> columns(char* data) const {
        return {reinterpret_cast<std::complex<Real>*>(data), geometry_.plane, geometry_.plane, 1,
                0};
    }

    // Returns columns along y: slots are the rows of each plane.
    Columns<Real> columns_of_planes(char* data, index_t first_slot, index_t count) const {
        return {reinterpret_cast<std::complex<Real>*>(data) + first_slot * geometry_.plane,
                geometry_.pitch, geometry_.pitch, count, geometry_.plane};
    }

    double scale_;  ///< normalization, which the transforms lack
};

}  // namespace

void RingTransform::load_zeros(index_t first_slot, index_t planes, const BlockMemory& memory,
                               cudaStream_t stream) const {
    for_each_run(first_slot, planes, [&](index_t slot, index_t, index_t run) {
        check(cudaMemsetAsync(memory.ring + slot * geometry_.plane_bytes(), 0,
                              static_cast<std::size_t>(run * geometry_.plane_bytes()), stream),
              "clearing planes");
    });
}

RowSource RingTransform::source_of(const DeviceTaps& taps) const {
    RowSource source;
    source.pixels = taps.pixels;
    source.planes = taps.shape.z;
    source.loaded_y = taps.gather_y ? geometry_.rows : taps.shape.y;
    source.loaded_x = taps.gather_x ? block_.axes[2].grid : taps.shape.x;
    source.gather_y = taps.gather_y;
    source.gather_x = taps.gather_x;
    return source;
}

std::unique_ptr<BlockTransform> make_block_transform(const Block& block,
                                                     const BlockGeometry& geometry, int device) {
    if (block.algorithm == Algorithm::direct) return make_direct_transform(block, geometry);
    if (geometry.uses_cufft) return make_cufft_transform(block, geometry, device);
    if (block.precision == Precision::float32)
        return std::make_unique<FftPassTransform<float>>(block, geometry);
    return std::make_unique<FftPassTransform<double>>(block, geometry);
}

}  // namespace convolume::gpu
