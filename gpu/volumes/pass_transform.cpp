// SPDX-License-Identifier: Apache-2.0
#include "gpu/volumes/pass_transform.hpp"

#include <algorithm>

namespace convolume::gpu {

namespace {

template <class Real>
class FftPassTransform : public PassTransform {
  public:
    FftPassTransform(const Block& block, const BlockGeometry& geometry)
        : PassTransform(block, geometry),
          scale_(1 / (static_cast<double>(geometry.z_length) * static_cast<double>(geometry.rows) *
                      static_cast<double>(block.axes[2].grid))) {}

    void prepare(const DeviceTaps& taps, const BlockMemory& memory,
                 cudaStream_t stream) const override {
        const RowSource source = row_source(taps, block_.grid());
        forward(source, planes(memory.kernel, 0, geometry_.kernel_planes), stream);
        if (!keeps_spectrum()) return;
        // Transforms along z once. The kernel's memory has room for the whole spectrum.
        const index_t length = geometry_.z_length;
        const Columns<Real> kernel = columns(memory.kernel, whole_plane());
        transform_columns<Real>(length, PassDirection::forward, kernel, kernel_positions(), kernel,
                                {0, length, 0, length}, stream);
    }

    void load_taps(const DeviceTaps& taps, const BlockMemory& memory,
                   cudaStream_t stream) const override {
        forward(row_source(taps, block_.grid()), planes(memory.ring, 0, geometry_.ring), stream);
    }

    void prepare_share(const ColumnShare& share, const BlockMemory& memory,
                       cudaStream_t stream) const override {
        const index_t length = geometry_.z_length;
        Columns<Real> source = columns(memory.ring, share),
                      target = kernel_columns(memory.kernel, share);
        if (keeps_spectrum()) {
            transform_columns<Real>(length, PassDirection::forward, source, kernel_positions(),
                                    target, {0, length, 0, length}, stream);
            return;
        }
        // Transforms of length 1 copy the columns of every plane.
        source.batches = target.batches = geometry_.kernel_planes;
        source.batch_stride = source.slot_stride;
        target.batch_stride = target.slot_stride;
        transform_columns<Real>(1, PassDirection::forward, source, {0, 1, 0, 1}, target,
                                {0, 1, 0, 1}, stream);
    }

    void load(const RowSource& source, index_t first_slot, const BlockMemory& memory,
              cudaStream_t stream) const override {
        for_each_run(first_slot, source.planes, [&](index_t slot, index_t begin, index_t count) {
            RowSource run = source;
            run.planes = count;
            run.pixels = source.pixels.from_plane(begin);
            if (geometry_.convolves_planes)
                load_rows(run, slot, memory, stream);
            else
                forward(run, planes(memory.ring, slot, geometry_.ring), stream);
        });
    }

    void load_rows(const RowSource& source, index_t first_slot, const BlockMemory& memory,
                   cudaStream_t stream) const override {
        forward_rows<Real>(block_.axes[2].grid, block_.complex_data, source,
                           planes(memory.ring, first_slot, geometry_.ring), stream);
    }

    void transform_y(PassDirection direction, const IndexRange& slots, const IndexRange& along_x,
                     const BlockMemory& memory, cudaStream_t stream,
                     double block_share) const override {
        const BlockAxis& y = block_.axes[1];
        const index_t length = geometry_.rows;
        const PositionMap all{0, length, 0, length}, loaded{0, y.loaded, 0, length},
            kept{y.kept_begin, y.kept, y.kept_begin, length};
        const bool is_forward = direction == PassDirection::forward;
        Columns<Real> rows = columns_of_planes(memory.ring, slots.begin, slots.count());
        rows.data += along_x.begin;
        rows.columns = along_x.count();
        transform_columns<Real>(length, direction, rows, is_forward ? loaded : all, rows,
                                is_forward ? all : kept, stream, block_share);
    }

    void load_zeros(index_t first_slot, index_t planes, const BlockMemory& memory,
                    cudaStream_t stream) const override {
        if (!geometry_.is_spread) {
            PassTransform::load_zeros(first_slot, planes, memory, stream);
            return;
        }
        // Only CUDA kernels may write to the memory of several devices at once.
        for_each_run(first_slot, planes, [&](index_t slot, index_t, index_t run) {
            Columns<Real> target = columns(memory.ring, whole_plane());
            target.data += slot * geometry_.plane;
            target.batches = run;
            target.batch_stride = geometry_.plane;
            // A transform of length 1 that loads nothing.
            transform_columns<Real>(1, PassDirection::forward, target, {0, 0, 0, 1}, target,
                                    {0, 1, 0, 1}, stream);
        });
    }

    void convolve(const ZWindow& window, const BlockMemory& memory,
                  cudaStream_t stream) const override {
        if (geometry_.convolves_planes) {
            convolve_planes(window.kept, memory, stream);
            return;
        }
        convolve_block(window, whole_plane(), {0, geometry_.plane, 1}, memory, stream, 1);
    }

    void convolve_block(const ZWindow& window, const ColumnShare& share, const ColumnBlock& block,
                        const BlockMemory& memory, cudaStream_t stream,
                        double block_share) const override {
        const index_t length = geometry_.z_length;
        const Columns<Real> data = block_of(columns(memory.ring, whole_plane()), block, 0),
                            kernel =
                                block_of(kernel_columns(memory.kernel, share), block, share.begin);
        if (keeps_spectrum()) {
            convolve_columns<Real>(length, data, window.load, window.store, {kernel}, stream,
                                   block_share);
            return;
        }
        if constexpr (transforms_kernels<Real>) {
            // The pass takes taps from position 0 on, so that results are at later positions.
            PositionMap store = window.store;
            store.begin = (store.begin + geometry_.kernel_shift % length + length) % length;
            convolve_columns<Real>(length, data, window.load, store,
                                   {kernel, geometry_.kernel_planes}, stream, block_share);
        } else {
            convolve_in_batches(window, block, data, kernel, memory, stream, block_share);
        }
    }

    void store(index_t first_slot, const RowTarget& target, const BlockMemory& memory,
               cudaStream_t stream) const override {
        for_each_run(first_slot, target.planes, [&](index_t slot, index_t begin, index_t count) {
            Columns<Real> rows = columns_of_planes(memory.ring, slot, count);
            const index_t length = geometry_.rows;
            if (!geometry_.convolves_planes)
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

    void store_rows(index_t first_slot, const RowTarget& target, const BlockMemory& memory,
                    cudaStream_t stream) const override {
        inverse_rows<Real>(block_.axes[2].grid, block_.complex_data,
                           planes(memory.ring, first_slot, geometry_.ring), target, scale_, stream);
    }

  private:
    bool keeps_spectrum() const { return geometry_.keeps_spectrum; }
    ColumnShare whole_plane() const { return {0, geometry_.plane}; }

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

    /// Transforms rows of planes along y, multiplies by the kernel's spectrum, and transforms back.
    void convolve_planes(index_t count, const BlockMemory& memory, cudaStream_t stream) const {
        const BlockAxis& y = block_.axes[1];
        const index_t length = geometry_.rows;
        Columns<Real> kernel = columns_of_planes(memory.kernel, 0, count);
        kernel.batch_stride = 0;  // one for all planes
        convolve_columns<Real>(length, columns_of_planes(memory.ring, 0, count),
                               {0, y.loaded, 0, length},
                               {y.kept_begin, y.kept, y.kept_begin, length}, {kernel}, stream);
    }

    /// Makes the kernel's spectra for a batch of columns at a time, so that most of them are still
    /// in the GPU's cache when they are read.
    void convolve_in_batches(const ZWindow& window, const ColumnBlock& block,
                             const Columns<Real>& data, const Columns<Real>& kernel,
                             const BlockMemory& memory, cudaStream_t stream,
                             double block_share) const {
        const index_t length = geometry_.z_length;
        const index_t width = std::min(geometry_.batch_columns, block.columns);
        if (width == 0) return;
        const index_t height = std::min(geometry_.batch_columns / width, block.rows);
        for (index_t row = 0; row < block.rows; row += height) {
            for (index_t begin = 0; begin < block.columns; begin += width) {
                const ColumnBlock batch{row * geometry_.pitch + begin,
                                        std::min(width, block.columns - begin),
                                        std::min(height, block.rows - row)};
                Columns<Real> spectra;
                spectra.data = reinterpret_cast<std::complex<Real>*>(memory.batch);
                spectra.columns = batch.columns;
                spectra.batches = batch.rows;
                spectra.batch_stride = batch.columns;
                spectra.slot_stride = batch.rows * batch.columns;
                transform_columns<Real>(length, PassDirection::forward, block_of(kernel, batch, 0),
                                        kernel_positions(), spectra, {0, length, 0, length}, stream,
                                        block_share);
                convolve_columns<Real>(length, block_of(data, batch, 0), window.load, window.store,
                                       {spectra}, stream, block_share);
            }
        }
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

    // Returns columns along z of planes: slots are planes.
    Columns<Real> columns(char* data, const ColumnShare& share) const {
        return {reinterpret_cast<std::complex<Real>*>(data) + share.begin, geometry_.plane,
                share.count, 1, 0};
    }
    // Returns columns along z of memory that holds a share of the kernel's columns alone.
    static Columns<Real> kernel_columns(char* data, const ColumnShare& share) {
        return {reinterpret_cast<std::complex<Real>*>(data), share.count, share.count, 1, 0};
    }

    // Returns a block of columns that begin at sample `first` of a plane.
    Columns<Real> block_of(Columns<Real> all, const ColumnBlock& block, index_t first) const {
        all.data += block.begin - first;
        all.columns = block.columns;
        all.batches = block.rows;
        all.batch_stride = geometry_.pitch;
        return all;
    }

    // Returns columns along y: slots are the rows of each plane.
    Columns<Real> columns_of_planes(char* data, index_t first_slot, index_t count) const {
        return {reinterpret_cast<std::complex<Real>*>(data) + first_slot * geometry_.plane,
                geometry_.pitch, geometry_.pitch, count, geometry_.plane};
    }

    double scale_;  ///< normalization, which the transforms lack
};

}  // namespace

std::unique_ptr<PassTransform> make_pass_transform(const Block& block,
                                                   const BlockGeometry& geometry) {
    if (block.precision == Precision::float32)
        return std::make_unique<FftPassTransform<float>>(block, geometry);
    return std::make_unique<FftPassTransform<double>>(block, geometry);
}

}  // namespace convolume::gpu
