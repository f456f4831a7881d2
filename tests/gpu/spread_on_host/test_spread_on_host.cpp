// SPDX-License-Identifier: Apache-2.0
// Tests convolutions over two to eight emulated devices, with halos and by columns: the product's
// own sources, with passes that are direct sums, and CUDA streams that run in any order that their
// events allow.

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "convolume/volume.hpp"
#include "gpu/volumes/halo_geometry.hpp"
#include "gpu/volumes/slab_program.hpp"
#include "gpu/volumes/spread_geometry.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/axis_case.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

constexpr Shape3 plane_shape{1, 3, 60};
constexpr index_t plane_samples = 3 * 60;

/// Returns the factor of a plane's value at a sample: kernels have one row and one column.
double factor(index_t sample) {
    return 1 + 0.01 * static_cast<double>(sample);
}

struct SpreadCase {
    AxisCase axis;
    std::vector<ProgramSlab> slabs;
    DeviceProgramSpec spec;
    Volume taps{{1, 1, 1}, PixelType::float32};
    bool in_place = false, keeps_spectrum = true;
};

SpreadCase random_spread_case(Random& random) {
    SpreadCase c;
    c.axis = random_axis_case(random);
    const BlockAxis& z = c.axis.z;
    const auto image = static_cast<index_t>(c.axis.image.size());
    const auto parts = static_cast<std::size_t>(random.integer(2, 8));
    const bool evenly = random.chance(0.5);
    const auto inputs =
        evenly ? even_division(image, parts) : random_division(random, image, parts);
    const auto stored =
        evenly ? even_division(z.kept, parts) : random_division(random, z.kept, parts);
    std::vector<int> devices;
    for (std::size_t i = 0; i < parts; ++i) {
        devices.push_back(random.chance(0.2) ? 0 : static_cast<int>(i));
        c.slabs.push_back({devices[i], inputs[i], stored[i]});
    }
    c.in_place = random.chance(0.5);

    c.spec.block.axes = {z, BlockAxis{4, plane_shape.y, 1, 0, plane_shape.y},
                         BlockAxis{128, plane_shape.x, 1, 0, plane_shape.x}};
    c.spec.block.source_type = c.spec.block.target_type = PixelType::float32;
    c.spec.source = {image, plane_shape.y, plane_shape.x};
    c.spec.gather[0] = c.axis.planes;
    for (index_t y = 0; y < plane_shape.y; ++y) c.spec.gather[1].push_back(y);
    for (index_t x = 0; x < plane_shape.x; ++x) c.spec.gather[2].push_back(x);
    c.spec.kernel_shift.z = c.axis.shift;
    c.taps = Volume({z.kernel, 1, 1}, PixelType::float32);
    for (index_t tap = 0; tap < z.kernel; ++tap)
        c.taps.elements<float>()[tap] = static_cast<float>(c.axis.taps[at(tap)]);
    c.spec.taps = c.taps.view();
    if (random.chance(0.4)) {
        c.spec.run_kernel = RunKernel{c.taps.shape(), PixelType::float32, false, {}};
        c.spec.taps.data = nullptr;
    }
    c.keeps_spectrum = random.chance(0.5);
    return c;
}

/// Returns a program with halos; null if there is none.
std::unique_ptr<SpreadProgram> halo_program_of(const SpreadCase& c, bool hides_copies) {
    std::vector<IndexRange> inputs, stored;
    for (const ProgramSlab& slab : c.slabs) {
        inputs.push_back(slab.input);
        stored.push_back(slab.output);
    }
    const std::vector<int> any(c.slabs.size(), gpu::any_device);
    const auto halos =
        gpu::halo_slabs(c.spec.block, c.axis.shift, c.axis.planes, inputs, stored, any,
                        std::vector<index_t>(c.slabs.size()), {}, c.keeps_spectrum);
    return halos.empty() ? nullptr : gpu::make_halo_program(c.spec, c.slabs, halos, hides_copies);
}

std::unique_ptr<SpreadProgram> column_program_of(const SpreadCase& c) {
    gpu::DeviceRates rates;
    rates.device = gpu::any_device;
    gpu::BlockGeometry geometry =
        gpu::spread_geometry(c.spec.block, {0, 0}, c.slabs.size(), rates, c.keeps_spectrum);
    geometry.kernel_shift = c.spec.kernel_shift.z;
    return gpu::make_column_program(c.spec, c.slabs, geometry);
}

/// The images of one execution: those of the axis, times a number.
struct Execution {
    double scale = 1;
    std::vector<std::vector<float>> inputs, outputs;
    std::vector<SlabData> data;

    Execution(const SpreadCase& c, double by,
              const std::vector<std::unique_ptr<gpu::CudaStream>>& streams)
        : scale(by) {
        for (const ProgramSlab& slab : c.slabs) {
            std::vector<float> planes;
            for (index_t z = slab.input.begin; z < slab.input.end; ++z)
                for (index_t i = 0; i < plane_samples; ++i)
                    planes.push_back(static_cast<float>(scale * c.axis.image[at(z)] * factor(i)));
            inputs.push_back(std::move(planes));
            outputs.emplace_back(at(slab.output.count() * plane_samples), std::nanf(""));
        }
        for (std::size_t i = 0; i < c.slabs.size(); ++i) {
            const bool in_place = c.in_place && inputs[i].size() == outputs[i].size();
            if (in_place) outputs[i].clear();
            data.push_back({inputs[i].data(), in_place ? inputs[i].data() : outputs[i].data(),
                            static_cast<cudaStream_t>(*streams[i])});
        }
    }
    /// Returns the largest error of the results.
    double error(const SpreadCase& c) const {
        const Samples want = c.axis.expected();
        double largest = 0;
        for (std::size_t i = 0; i < c.slabs.size(); ++i) {
            const std::vector<float>& got = outputs[i].empty() ? inputs[i] : outputs[i];
            const IndexRange& own = c.slabs[i].output;
            for (index_t z = own.begin; z < own.end; ++z)
                for (index_t s = 0; s < plane_samples; ++s) {
                    const double difference =
                        static_cast<double>(got[at((z - own.begin) * plane_samples + s)]) -
                        scale * want[at(z)] * factor(s);
                    if (!(std::abs(difference) <= largest)) largest = std::abs(difference);
                }
        }
        return largest;
    }
};

void check_executions(const SpreadCase& c, SpreadProgram& program, Random& random) {
    std::vector<std::unique_ptr<gpu::CudaStream>> streams;
    for (std::size_t i = 0; i < c.slabs.size(); ++i)
        streams.push_back(std::make_unique<gpu::CudaStream>());
    // Streams that are made first get ahead of others.
    if (random.chance(0.5)) std::reverse(streams.begin(), streams.end());
    std::vector<Execution> executions;
    for (const double scale : {1.0, -2.0, 0.5}) executions.emplace_back(c, scale, streams);
    // Executions follow each other without waiting.
    for (const Execution& execution : executions)
        program.run(execution.data, c.spec.run_kernel ? c.taps.view().data : nullptr);
    // Each stream ends when all have ended.
    streams[at(random.integer(0, static_cast<index_t>(streams.size()) - 1))]->wait();
    for (const Execution& execution : executions) CHECK(execution.error(c) < 1e-4);
}

/// Checks programs that make(case, random) returns, which may be null. Returns their number.
template <class Make>
int check_programs(const char* name, const Make& make) {
    const std::uint64_t seed = test_seed(name);
    int programs = 0;
    for (std::uint64_t number = 0; number < 400; ++number) {
        Random random(seed, number);
        const SpreadCase c = random_spread_case(random);
        gpu::SpreadTuning tuning;
        if (random.chance(0.8)) tuning.halo_chunks = random.pick({1, 2, 3, 9});
        tuning.chunks = random.pick({1, 2, 3, 9});
        tuning.least_chunk_bytes = 1;
        cuda_on_host::Machine::one().set_seed(seed + number);
        gpu::spread_tuning() = tuning;
        const std::unique_ptr<SpreadProgram> program = make(c, random);
        gpu::spread_tuning() = {};
        if (!program) continue;
        ++programs;
        INFO("case " << number << ", " << c.slabs.size() << " slabs, grid " << c.axis.z.grid
                     << ", kernel " << c.axis.z.kernel << ", chunks "
                     << tuning.halo_chunks.value_or(0) << " and " << tuning.chunks
                     << (c.in_place ? ", in place" : "")
                     << (c.spec.run_kernel ? ", kernel with each run" : ""));
        check_executions(c, *program, random);
    }
    return programs;
}

}  // namespace

TEST_CASE("emulated devices with halos: every execution is right in any order of streams") {
    const int programs = check_programs(
        "emulated devices with halos",
        [](const SpreadCase& c, Random& random) { return halo_program_of(c, random.chance(0.5)); });
    CHECK(programs > 200);
}

TEST_CASE("emulated devices by columns: every execution is right in any order of streams") {
    const int programs =
        check_programs("emulated devices by columns",
                       [](const SpreadCase& c, Random&) { return column_program_of(c); });
    CHECK(programs == 400);
}
