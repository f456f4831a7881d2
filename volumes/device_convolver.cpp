// SPDX-License-Identifier: Apache-2.0
#include "convolume/device_convolver.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "convolume/error.hpp"
#include "core/gpu_backend.hpp"
#include "core/views.hpp"
#include "volumes/axis.hpp"
#include "volumes/problem.hpp"

namespace convolume {

namespace {

// One axis of a device program. On a periodic grid the kernel is shifted by `kernel_shift` samples.
struct DeviceAxis {
    AxisWindow window;
    bool periodic = false;  ///< the grid has the length of the image
    index_t least_grid = 0;
    index_t kernel_shift = 0;
    std::vector<index_t> gather;
};

DeviceAxis device_axis(const ConvolutionProblem& problem, int axis, int device) {
    const AxisProblem axis_problem = problem.axis(axis);
    const auto good_length = [&](index_t least) {
        return require_gpu_backend().good_device_length(device, axis, least, problem.complex_data,
                                                        problem.precision);
    };
    DeviceAxis result;
    result.periodic = axis_problem.may_have_periodic_grid() &&
                      good_length(axis_problem.image) == axis_problem.image;
    AxisWindow& window = result.window;
    window =
        axis_window(axis_problem, axis_problem.out_begin, axis_problem.out_end, result.periodic);
    result.least_grid = window.grid;
    if (!result.periodic) {
        window.grid = good_length(window.grid);
        result.gather = gather_indices(window, axis_problem.image, axis_problem.boundary);
        return result;
    }
    // The grid has the length of the image, so that image and result stay in place. The shift of
    // the kernel moves output out_begin from grid position out_begin - kernel_begin to 0.
    const index_t outputs = window.kept();
    result.kernel_shift = (axis_problem.out_begin - window.kernel_begin) % window.grid;
    window.load_begin = 0;
    window.load_end = axis_problem.image;
    window.out_begin = window.kernel_begin;
    window.out_end = window.kernel_begin + outputs;
    result.gather = identity_indices(axis_problem.image);
    return result;
}

// Makes the grids of planes that are apart square, if planes of that size are convolved in one pass
// and that is faster.
void choose_plane_grid(int device, DeviceAxis& y, DeviceAxis& x) {
    // On the same grid, one pass takes half the time of separate passes, or less: 6144 planes of
    // 16×16 to 64×64 on an H200 (bench/peers/fused_planes.py).
    constexpr index_t most_growth = 2;
    if (y.periodic || x.periodic) return;
    const index_t length =
        require_gpu_backend().good_plane_length(device, std::max(y.least_grid, x.least_grid));
    if (length > 0 && length * length <= most_growth * y.window.grid * x.window.grid)
        y.window.grid = x.window.grid = length;
}

// Resolves a problem whose kernel is known by its shape and type. Throws InvalidArgument for
// options that need the samples.
ResolvedProblem resolve_without_taps(const Shape3& image, const ConstImageView& kernel,
                                     const Options& options, const DeviceOptions& device) {
    using Kind = KernelCenter::Kind;
    const Kind center = options.center.kind;
    const char* const needed =
        options.normalization != KernelNormalization::none ? "normalization"
        : center == Kind::peak || center == Kind::centroid || center == Kind::corner
            ? "a center that its samples decide"
        : options.boundary.kind == BoundaryKind::constant && options.boundary.value != 0
            ? "a constant boundary"
        : is_complex(kernel.type) && options.operation != Operation::convolve ? "conjugation"
                                                                              : nullptr;
    if (needed)
        throw InvalidArgument(message("a kernel in device memory allows no ", needed,
                                      ": give its samples in host memory"));
    check_not_empty(kernel.shape, "the kernel");
    // The problem does not depend on the samples.
    Volume ones(kernel.shape, kernel.type);
    visit_pixel_type(kernel.type, [&](auto tag) {
        using Sample = typename decltype(tag)::type;
        std::fill_n(ones.elements<Sample>(), element_count(kernel.shape), Sample(1));
    });
    return resolve_problem(image, ones.view(), options, device.image_type,
                           device.output_type.value_or(PixelType::float32));
}

// Returns the planes of each slab: as requested, or divided evenly.
std::vector<index_t> planes_of_slabs(const std::vector<index_t>& requested, index_t planes,
                                     std::size_t slabs, const char* what) {
    std::vector<index_t> result = requested;
    if (requested.empty()) {
        const auto count = static_cast<index_t>(slabs);
        for (index_t i = 0; i < count; ++i)
            result.push_back(planes * (i + 1) / count - planes * i / count);
    }
    index_t sum = 0;
    for (const index_t own : result) {
        if (own < 0)
            throw InvalidArgument(message("a slab of ", own, " planes of the ", what,
                                          ": give the number of planes, at least 0"));
        sum = checked_add(sum, own);
    }
    if (result.size() != slabs || sum != planes)
        throw InvalidArgument(message(result.size(), " slabs with ", sum, " planes of the ", what,
                                      ", which has ", planes, " planes on ", slabs,
                                      " GPUs: divide all planes, with a slab for each GPU"));
    return result;
}

std::vector<DeviceSlab> slabs_of(const ResolvedProblem& resolved, const std::vector<int>& devices,
                                 const DeviceOptions& options) {
    const std::vector<index_t> inputs =
        planes_of_slabs(options.input_planes, resolved.input_shape.z, devices.size(), "input");
    const std::vector<index_t> outputs =
        planes_of_slabs(options.output_planes, resolved.output_shape.z, devices.size(), "result");
    std::vector<DeviceSlab> slabs;
    DeviceSlab slab;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        slab.device = devices[i];
        slab.input_begin += slab.input_planes;
        slab.input_planes = inputs[i];
        slab.output_begin += slab.output_planes;
        slab.output_planes = outputs[i];
        slabs.push_back(slab);
    }
    return slabs;
}

// Throws InvalidArgument for floats of 16 bits that are not offered.
void check_storage(const DeviceOptions& device, const ResolvedProblem& resolved,
                   PixelType output_type) {
    const auto check = [&](SampleStorage storage, PixelType type, const char* what) {
        if (storage == SampleStorage::plain) return;
        if (storage == SampleStorage::int16 || type != PixelType::float32)
            throw InvalidArgument(message(what, " of ", to_string(type), " in the storage ",
                                          to_string(storage),
                                          ": those of float32 are stored as float16 or bfloat16"));
        if (device.devices.size() > 1)
            throw InvalidArgument(message(what, " in the storage ", to_string(storage),
                                          " on several GPUs: convert them to float32 first"));
    };
    check(device.image_storage, device.image_type, "images");
    check(device.output_storage, output_type, "results");
    if (device.output_storage != SampleStorage::plain && resolved.folds)
        throw InvalidArgument(message(
            "an adjoint with a boundary that continues the image has no results in the storage ",
            to_string(device.output_storage), ": take float32"));
}

PixelType element_type_of(PixelType type, SampleStorage storage) {
    return storage == SampleStorage::plain ? type : element_type(storage);
}

std::vector<ProgramSlab> ranges_of(const std::vector<DeviceSlab>& slabs) {
    std::vector<ProgramSlab> ranges;
    for (const DeviceSlab& slab : slabs)
        ranges.push_back({slab.device,
                          {slab.input_begin, slab.input_begin + slab.input_planes},
                          {slab.output_begin, slab.output_begin + slab.output_planes}});
    return ranges;
}

RunKernel run_kernel_of(const ConvolutionProblem& problem, const ConstImageView& kernel,
                        const Options& options) {
    RunKernel form{kernel.shape, kernel.type, options.operation != Operation::convolve, {}};
    for (int a = 0; a < 3; ++a) form.begin[a] = trim_kernel(problem.axis(a)).kernel_begin;
    return form;
}

}  // namespace

struct DeviceConvolver::Impl {
    ResolvedProblem resolved;
    PixelType output_type;
    Shape3 grid;
    bool kernel_on_device = false;
    std::unique_ptr<DeviceProgram> program;  ///< null if there are several slabs
    std::unique_ptr<SpreadProgram> spread;
    std::vector<DeviceSlab> slabs;

    void run(std::span<const void* const> inputs, const void* kernel,
             std::span<void* const> outputs, std::span<const DeviceStream> streams,
             index_t images = 1) const {
        if (images < 0) throw InvalidArgument(message(images, " images: give at least 0"));
        if (images == 0) return;
        if (inputs.size() != slabs.size() || outputs.size() != slabs.size() ||
            (!streams.empty() && streams.size() != slabs.size()))
            throw InvalidArgument(message("this convolver has ", slabs.size(), " slabs, and got ",
                                          inputs.size(), " inputs, ", outputs.size(),
                                          " outputs and ", streams.size(),
                                          " streams: give one for each slab"));
        for (std::size_t i = 0; i < slabs.size(); ++i) {
            const char none = 0;  // stands for slabs without planes
            const std::string number = slabs.size() > 1 ? message(" of slab ", i) : "";
            check_memory(slabs[i].input_planes > 0 ? inputs[i] : &none, ("input" + number).c_str(),
                         slabs[i].output_planes > 0 ? outputs[i] : &none,
                         ("output" + number).c_str());
        }
        if (kernel_on_device != (kernel != nullptr))
            throw InvalidArgument(
                kernel_on_device
                    ? "this convolver was made for a kernel in device memory: give it with each "
                      "execution"
                    : "this convolver has a kernel: make one with kernel_on_device to give another "
                      "with each execution");
        if (program) {
            program->run(inputs[0], outputs[0], streams.empty() ? nullptr : streams[0].get(),
                         kernel, images);
            return;
        }
        std::vector<SlabData> data(slabs.size());
        for (std::size_t i = 0; i < slabs.size(); ++i)
            data[i] = {inputs[i], outputs[i], streams.empty() ? nullptr : streams[i].get()};
        spread->run(data, kernel);
    }
};

DeviceConvolver::DeviceConvolver(const Shape3& image_shape, const ConstImageView& kernel,
                                 const Options& options, const DeviceOptions& device)
    : impl_(std::make_unique<Impl>()) {
    if (const std::string why = gpu_unavailable(); !why.empty()) throw GpuUnavailable(why);
    const std::vector<int> devices =
        device.devices.empty() ? std::vector{device.device} : device.devices;
    if (devices.size() == 1)
        require_on_device(device.workspace_of.get().get(), devices[0]);
    else if (device.workspace_of.get())
        throw InvalidArgument("a convolver on several GPUs has workspaces of its own: share none");
    ResolvedProblem& resolved = impl_->resolved;
    resolved = device.kernel_on_device
                   ? resolve_without_taps(image_shape, kernel, options, device)
                   : resolve_problem(image_shape, kernel, options, device.image_type,
                                     device.output_type.value_or(PixelType::float32));
    impl_->kernel_on_device = device.kernel_on_device;
    const ConvolutionProblem& problem = resolved.problem;
    const PixelType natural = sample_type(options.precision, problem.complex_data);
    impl_->output_type = device.output_type.value_or(natural);
    check_result_type(problem.complex_data, impl_->output_type);
    check_storage(device, resolved, impl_->output_type);

    DeviceProgramSpec spec;
    spec.device = devices[0];
    spec.block.precision = options.precision;
    spec.block.complex_data = problem.complex_data;
    spec.block.complex_kernel = problem.complex_kernel;
    spec.source_storage = device.image_storage;
    spec.target_storage = device.output_storage;
    spec.block.source_type = element_type_of(device.image_type, device.image_storage);
    spec.block.target_type =
        resolved.folds ? natural : element_type_of(impl_->output_type, device.output_storage);
    std::array<DeviceAxis, 3> axes;
    for (int a = 0; a < 3; ++a)
        axes[static_cast<std::size_t>(a)] = device_axis(problem, a, devices[0]);
    const BlockAxis z = block_axis(axes[0].window);
    spec.block.planes_are_apart = devices.size() == 1 && z.kernel == 1 && z.kept_begin == 0 &&
                                  z.kept == z.loaded && axes[0].kernel_shift == 0 &&
                                  axes[0].gather == identity_indices(resolved.input_shape.z);
    if (spec.block.planes_are_apart && !problem.complex_data &&
        options.precision == Precision::float32)
        choose_plane_grid(devices[0], axes[1], axes[2]);
    for (int a = 0; a < 3; ++a) {
        DeviceAxis& axis = axes[static_cast<std::size_t>(a)];
        spec.block.axes[static_cast<std::size_t>(a)] = block_axis(axis.window);
        spec.kernel_shift[a] = axis.kernel_shift;
        spec.gather[static_cast<std::size_t>(a)] = std::move(axis.gather);
        impl_->grid[a] = axis.window.grid;
    }
    spec.taps = resolved.taps->view();
    if (device.kernel_on_device) {
        spec.taps.data = nullptr;
        spec.run_kernel = run_kernel_of(problem, kernel, options);
    }
    spec.source = resolved.input_shape;
    spec.subtract = resolved.subtract;
    spec.add = resolved.add;
    if (options.nan == NanPolicy::missing)
        throw InvalidArgument(
            "missing samples are left out of images in host memory only: copy the image to the "
            "host, or choose another treatment of NaN");
    spec.nonfinite_to_zero = options.nan == NanPolicy::zero;
    if (resolved.folds) {
        spec.fold_sources = resolved.fold_sources;
        spec.folded = resolved.output_shape;
        spec.folded_type = impl_->output_type;
    }
    spec.keep_spectrum = device.keep_kernel_spectrum;
    spec.memory_limit_bytes = device.max_gpu_bytes.value_or(0);
    spec.workspace = device.workspace_of.get();
    impl_->slabs = slabs_of(resolved, devices, device);
    if (devices.size() == 1) {
        impl_->program = require_gpu_backend().make_device_program(spec);
        impl_->slabs[0].device_bytes = impl_->program->bytes();
    } else {
        impl_->spread = require_gpu_backend().make_spread_program(spec, ranges_of(impl_->slabs));
        for (std::size_t i = 0; i < devices.size(); ++i)
            impl_->slabs[i].device_bytes = impl_->spread->bytes(i);
    }
    resolved.taps.reset();  // the program has a copy in GPU memory
}

WorkspaceOf::WorkspaceOf(const DeviceConvolver* convolver) {
    if (!convolver) return;
    if (!convolver->impl_->program)
        throw InvalidArgument("a convolver on several GPUs does not share its workspaces");
    workspace_ = convolver->impl_->program->workspace();
}

const Shape3& DeviceConvolver::input_shape() const {
    return impl_->resolved.input_shape;
}
const Shape3& DeviceConvolver::output_shape() const {
    return impl_->resolved.output_shape;
}
PixelType DeviceConvolver::output_type() const {
    return impl_->output_type;
}
index_t DeviceConvolver::device_bytes() const {
    index_t most = 0;
    for (const DeviceSlab& slab : impl_->slabs) {
        index_t here = 0;
        for (const DeviceSlab& other : impl_->slabs)
            if (other.device == slab.device) here += other.device_bytes;
        most = std::max(most, here);
    }
    return most;
}
const Shape3& DeviceConvolver::grid() const {
    return impl_->grid;
}

const std::vector<DeviceSlab>& DeviceConvolver::slabs() const {
    return impl_->slabs;
}

void DeviceConvolver::execute(const void* input, void* output, DeviceStream stream,
                              index_t images) const {
    impl_->run({&input, 1}, nullptr, {&output, 1}, {&stream, 1}, images);
}

void DeviceConvolver::execute_with_kernel(const void* input, const void* kernel, void* output,
                                          DeviceStream stream, index_t images) const {
    impl_->run({&input, 1}, kernel, {&output, 1}, {&stream, 1}, images);
}

void DeviceConvolver::execute(std::span<const void* const> inputs, std::span<void* const> outputs,
                              std::span<const DeviceStream> streams) const {
    impl_->run(inputs, nullptr, outputs, streams);
}

void DeviceConvolver::execute_with_kernel(std::span<const void* const> inputs, const void* kernel,
                                          std::span<void* const> outputs,
                                          std::span<const DeviceStream> streams) const {
    impl_->run(inputs, kernel, outputs, streams);
}

}  // namespace convolume
