// SPDX-License-Identifier: Apache-2.0
#include "gpu/volumes/program_images.hpp"

#include <array>
#include <limits>

#include "convolume/error.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"

namespace convolume::gpu {

namespace {

template <class T>
DeviceMemory upload(const std::vector<T>& values, int device) {
    const std::size_t bytes = values.size() * sizeof(T);
    DeviceMemory memory(device, static_cast<index_t>(bytes));
    const DeviceScope scope(device);
    check(cudaMemcpy(memory.data(), values.data(), bytes, cudaMemcpyHostToDevice),
          "copying a gather");
    return memory;
}

// Uploads a gather; returns empty memory for an identity.
DeviceMemory gather_list(const std::vector<index_t>& indices, int device) {
    bool identity = true;
    std::vector<std::int32_t> list;
    for (const index_t i : indices) {
        if (i > std::numeric_limits<std::int32_t>::max())
            throw InvalidArgument("a row of more than 2^31 samples is too long for a GPU");
        identity = identity && i == static_cast<index_t>(list.size());
        list.push_back(static_cast<std::int32_t>(i));
    }
    return identity ? DeviceMemory() : upload(list, device);
}

// Uploads a list with the tap at every position of a periodic grid, -1 if there is none. `tap_of`
// returns the number of the i-th tap.
template <class TapOf>
DeviceMemory tap_list(index_t grid, index_t taps, index_t shift, int device, const TapOf& tap_of) {
    std::vector<std::int32_t> list(static_cast<std::size_t>(grid), -1);
    for (index_t tap = 0; tap < taps; ++tap)
        list[static_cast<std::size_t>(((tap - shift) % grid + grid) % grid)] =
            static_cast<std::int32_t>(tap_of(tap));
    return upload(list, device);
}

// Returns the tap at every position of a periodic grid. The kernel is shifted circularly instead of
// the image.
DeviceMemory shifted_taps(const DeviceProgramSpec& spec, int axis, int device) {
    const index_t shift = spec.kernel_shift[axis];
    if (shift == 0) return {};
    return tap_list(spec.block.grid()[axis], spec.taps.shape[axis], shift, device,
                    [](index_t tap) { return tap; });
}

}  // namespace

ProgramImages::ProgramImages(const DeviceProgramSpec& spec, int device)
    : block_(spec.block),
      source_(spec.source),
      planes_of_slots_(spec.gather[0]),
      subtract_(spec.subtract),
      add_(spec.add),
      nonfinite_to_zero_(spec.nonfinite_to_zero),
      source_storage_(spec.source_storage),
      target_storage_(spec.target_storage),
      gather_y_(gather_list(spec.gather[1], device)),
      gather_x_(gather_list(spec.gather[2], device)) {}

RowSource ProgramImages::source_at(const void* input, index_t plane, index_t count) const {
    const index_t plane_samples = source_.y * source_.x;
    const PixelType type = block_.source_type;
    RowSource source;
    source.pixels = {const_cast<char*>(static_cast<const char*>(input)) +
                         plane * plane_samples * sample_bytes(type),
                     type, plane_samples, source_.x, source_storage_};
    source.planes = count;
    source.loaded_y = block_.axes[1].loaded;
    source.loaded_x = block_.axes[2].loaded;
    source.gather_y = gather_y_.as<std::int32_t>();
    source.gather_x = gather_x_.as<std::int32_t>();
    source.subtract = subtract_;
    source.nonfinite_to_zero = nonfinite_to_zero_;
    return source;
}

std::vector<IndexRange> ProgramImages::loaded_slots(const IndexRange& planes,
                                                    const IndexRange& zeros) const {
    std::vector<IndexRange> runs;
    for (index_t slot = 0; slot < static_cast<index_t>(planes_of_slots_.size()); ++slot) {
        if (!is_loaded(slot, planes, zeros)) continue;
        if (runs.empty() || runs.back().end != slot) runs.push_back({slot, slot});
        runs.back().end = slot + 1;
    }
    return runs;
}

RowTarget ProgramImages::target_of(void* output, const IndexRange& kept) const {
    const BlockAxis &y = block_.axes[1], &x = block_.axes[2];
    RowTarget target;
    target.pixels = {output, block_.target_type, y.kept * x.kept, x.kept, target_storage_};
    target.planes = kept.count();
    target.kept_begin_y = y.kept_begin;
    target.kept_y = y.kept;
    target.kept_begin_x = x.kept_begin;
    target.kept_x = x.kept;
    target.add_real = add_.real();
    target.add_imaginary = add_.imag();
    return target;
}

CopiedTaps::CopiedTaps(const DeviceProgramSpec& spec, int device)
    : memory_(device, bytes_of(spec.taps.shape, spec.taps.type)),
      list_y_(shifted_taps(spec, 1, device)),
      list_x_(shifted_taps(spec, 2, device)) {
    const DeviceScope scope(device);
    check(cudaMemcpy(memory_.data(), spec.taps.data,
                     static_cast<std::size_t>(bytes_of(spec.taps.shape, spec.taps.type)),
                     cudaMemcpyHostToDevice),
          "copying the kernel");
    taps_.pixels = {memory_.data(), spec.taps.type, spec.taps.shape.y * spec.taps.shape.x,
                    spec.taps.shape.x};
    taps_.shape = spec.taps.shape;
    taps_.gather_y = list_y_.as<std::int32_t>();
    taps_.gather_x = list_x_.as<std::int32_t>();
}

RunTaps::RunTaps(const DeviceProgramSpec& spec, int device)
    : form_(*spec.run_kernel),
      shape_(spec.taps.shape),
      list_y_(list(spec, 1, device)),
      list_x_(list(spec, 2, device)) {}

// Returns the kernel's row or column at every position of a grid, -1 if there is none. Returns
// empty memory if they follow each other from position 0 on.
DeviceMemory RunTaps::list(const DeviceProgramSpec& spec, int axis, int device) const {
    if (!form_.flip && spec.kernel_shift[axis] == 0) return {};
    const index_t begin = form_.begin[axis], last = form_.shape[axis] - 1;
    return tap_list(spec.block.grid()[axis], shape_[axis], spec.kernel_shift[axis], device,
                    [&](index_t tap) { return form_.flip ? last - begin - tap : begin + tap; });
}

DeviceTaps RunTaps::taps_of(const void* kernel) const {
    const index_t plane = form_.shape.y * form_.shape.x;
    index_t first = (form_.flip ? form_.shape.z - 1 - form_.begin.z : form_.begin.z) * plane;
    if (list_y_.bytes() == 0) first += form_.begin.y * form_.shape.x;
    if (list_x_.bytes() == 0) first += form_.begin.x;
    DeviceTaps taps;
    taps.pixels = {
        const_cast<char*>(static_cast<const char*>(kernel)) + first * sample_bytes(form_.type),
        form_.type, form_.flip ? -plane : plane, form_.shape.x};
    taps.shape = shape_;
    taps.gather_y = list_y_.as<std::int32_t>();
    taps.gather_x = list_x_.as<std::int32_t>();
    return taps;
}

FirstTaps::FirstTaps(const DeviceProgramSpec& spec, const std::optional<RunTaps>& run_taps,
                     int device) {
    if (run_taps) {
        zeros_ = DeviceMemory(device, bytes_of(spec.run_kernel->shape, spec.run_kernel->type));
        zeros_.clear();
        taps_ = run_taps->taps_of(zeros_.data());
    } else {
        copied_.emplace(spec, device);
        taps_ = copied_->taps();
    }
    // Copies from ordinary memory may still be running when they return.
    check(cudaDeviceSynchronize(), "copying the kernel");
}

ResultFold::ResultFold(const DeviceProgramSpec& spec, int device) {
    std::vector<std::int64_t> lists;
    std::array<std::size_t, 3> begins{};
    for (std::size_t a = 0; a < 3; ++a) {
        const index_t extent = spec.folded[static_cast<int>(a)];
        std::vector<std::vector<std::int64_t>> positions(static_cast<std::size_t>(extent));
        const auto& sources = spec.fold_sources[a];
        for (std::size_t i = 0; i < sources.size(); ++i)
            if (sources[i] >= 0)
                positions[static_cast<std::size_t>(sources[i])].push_back(
                    static_cast<std::int64_t>(i));
        begins[a] = lists.size();
        std::int64_t start = 0;
        for (const auto& target_positions : positions) {
            lists.push_back(start);
            start += static_cast<std::int64_t>(target_positions.size());
        }
        lists.push_back(start);
        for (const auto& target_positions : positions)
            lists.insert(lists.end(), target_positions.begin(), target_positions.end());
    }
    lists_ = upload(lists, device);
    const auto* const at = lists_.as<std::int64_t>();
    for (std::size_t a = 0; a < 3; ++a) {
        const auto extent = static_cast<std::size_t>(spec.folded[static_cast<int>(a)]);
        arguments_.axes[a] = {at + begins[a], at + begins[a] + extent + 1};
    }
    arguments_.extended_type = spec.block.target_type;
    arguments_.extended_shape = spec.block.kept();
    arguments_.target_type = spec.folded_type;
    arguments_.target_shape = spec.folded;
}

void ResultFold::fold(const void* extended, void* output, const IndexRange& planes,
                      cudaStream_t stream) const {
    if (planes.count() == 0) return;
    FoldArguments arguments = arguments_;
    arguments.extended = extended;
    arguments.target = output;
    arguments.target_shape.z = planes.count();
    arguments.axes[0].starts += planes.begin;
    gpu::fold(arguments, stream);
}

}  // namespace convolume::gpu
