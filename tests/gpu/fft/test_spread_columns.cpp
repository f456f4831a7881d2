// SPDX-License-Identifier: Apache-2.0
// Runs the passes along y and z of several devices on the host, in the order that the devices keep,
// and compares with reference transforms.

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "gpu/fft/column_kernel.hpp"
#include "gpu/fft/plan.hpp"
#include "gpu/volumes/spread_layout.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/fft/fft_support.hpp"
#include "tests/gpu/fft/host_block.hpp"

namespace convolume::gpu {

namespace {

constexpr int y_length = 20, z_length = 27;
constexpr index_t pitch = 16;  // one column tile
constexpr PositionMap all_rows{0, y_length, 0, y_length};

using Sample = std::complex<float>;

std::size_t at(index_t i) {
    return static_cast<std::size_t>(i);
}

template <int N>
void run_columns(ColumnJob<float> job) {
    using Shape = ColumnShape<float, N>;
    const auto twiddles = plan_twiddles<float>(Shape::plan);
    job.twiddles = twiddles.data();
    job.prefetches = true;
    run_on_host(1, Shape::threads, Shape::fixed_bytes + Shape::prefetch_bytes,
                [&](const HostBlock& block) { column_pass<float, N, false>(block, job); });
}

/// The volume of all devices, and its passes.
class Devices {
  public:
    Devices(const SpreadLayout& layout, unsigned seed)
        : layout_(layout),
          memory_(poisoned<Sample>(layout.devices() * layout.planes() * layout.plane())),
          random_(seed) {}

    Sample& row(index_t device, index_t slot, index_t y) {
        return memory_[at(layout_.origin(device) + slot * layout_.plane() + y * pitch)];
    }
    void transform_y(PassDirection direction, index_t group, index_t slots) {
        for (const index_t device : in_any_order()) {
            const IndexRange here = layout_.slots(device, group).within({0, slots});
            if (here.count() == 0) continue;
            const Columns<float> rows{&row(device, here.begin, 0), pitch, pitch, here.count(),
                                      layout_.plane()};
            run_columns<y_length>(
                column_transform_job(y_length, direction, rows, all_rows, rows, all_rows));
        }
    }
    /// Copies the rows of a group to where they are transformed along z, or back.
    void exchange(PassDirection direction, index_t group, index_t slots) {
        for (const index_t device : in_any_order()) {
            for (const index_t other : in_any_order()) {
                if (other == device) continue;
                const IndexRange here = layout_.slots(device, group).within({0, slots});
                const index_t own = layout_.own_rows(device, other),
                              guest = layout_.guest_rows(device, other);
                const bool forward = direction == PassDirection::forward;
                for (index_t slot = here.begin; slot < here.end; ++slot)
                    std::copy_n(&memory_[at((forward ? own : guest) + slot * layout_.plane())],
                                layout_.share(other).count,
                                &memory_[at((forward ? guest : own) + slot * layout_.plane())]);
            }
        }
    }
    void convolve_z(const PositionMap& load, const PositionMap& store,
                    const std::vector<Sample>& kernel) {
        for (const index_t device : in_any_order()) {
            const ColumnShare share = layout_.share(device);
            if (share.count == 0) continue;
            const SlotParts parts = layout_.along_z(device);
            Columns<float> data{
                &row(device, 0, 0) + share.begin, layout_.plane(), share.count, 1, 0, &parts};
            Columns<float> spectrum{const_cast<Sample*>(kernel.data()) + share.begin,
                                    y_length * pitch,
                                    share.count,
                                    1,
                                    0,
                                    nullptr};
            run_columns<z_length>(
                convolve_job<float>(z_length, data, load, store, {spectrum, 0, false}));
        }
    }

  private:
    std::vector<index_t> in_any_order() {
        std::vector<index_t> devices(at(layout_.devices()));
        std::iota(devices.begin(), devices.end(), index_t{0});
        std::shuffle(devices.begin(), devices.end(), random_);
        return devices;
    }

    SpreadLayout layout_;
    std::vector<Sample> memory_;
    std::mt19937 random_;
};

void check_devices(index_t devices, index_t ring, index_t groups, index_t loaded, index_t kept) {
    INFO(devices << " devices, " << ring << " slots, " << groups << " groups");
    const SpreadLayout layout(devices, ring, y_length, pitch, groups);
    Devices volume(layout, static_cast<unsigned>(devices));
    const auto samples = random_samples<Sample>(loaded * y_length * pitch, 1),
               kernel = random_samples<Sample>(z_length * y_length * pitch, 2);
    const PositionMap load{0, loaded, 0, ring}, store{3, kept, 0, ring};
    const auto owner_of = [&](index_t slot) {
        index_t device = 0;
        while (slot >= layout.slots(device).end) ++device;
        return device;
    };
    for (index_t slot = 0; slot < loaded; ++slot)
        for (index_t y = 0; y < y_length; ++y)
            std::copy_n(&samples[at((slot * y_length + y) * pitch)], pitch,
                        &volume.row(owner_of(slot), slot, y));
    for (index_t group = 0; group < layout.groups(); ++group) {
        volume.transform_y(PassDirection::forward, group, loaded);
        volume.exchange(PassDirection::forward, group, loaded);
    }
    volume.convolve_z(load, store, kernel);
    for (index_t group = layout.groups() - 1; group >= 0; --group) {
        volume.exchange(PassDirection::inverse, group, kept);
        volume.transform_y(PassDirection::inverse, group, kept);
    }

    Difference difference;
    for (const index_t x : {index_t{0}, pitch - 1}) {
        std::vector<Signal> planes(at(z_length), Signal(at(y_length)));
        const auto transform = [&](auto sign) {
            for (Signal& plane : planes) plane = reference_transform(plane, sign);
        };
        const auto transform_z = [&](auto sign) {
            for (index_t y = 0; y < y_length; ++y) {
                Signal column(at(z_length));
                for (index_t z = 0; z < z_length; ++z) column[at(z)] = planes[at(z)][at(y)];
                column = reference_transform(column, sign);
                for (index_t z = 0; z < z_length; ++z) planes[at(z)][at(y)] = column[at(z)];
            }
        };
        for (index_t z = 0; z < loaded; ++z)
            for (index_t y = 0; y < y_length; ++y)
                planes[at(z)][at(y)] =
                    Signal::value_type(samples[at((z * y_length + y) * pitch + x)]);
        transform(forward_sign);
        transform_z(forward_sign);
        for (index_t z = 0; z < z_length; ++z)
            for (index_t y = 0; y < y_length; ++y)
                planes[at(z)][at(y)] *=
                    Signal::value_type(kernel[at((z * y_length + y) * pitch + x)]);
        transform_z(inverse_sign);
        transform(inverse_sign);
        for (index_t slot = 0; slot < kept; ++slot)
            for (index_t y = 0; y < y_length; ++y)
                difference.add(Signal::value_type((&volume.row(owner_of(slot), slot, y))[x]),
                               planes[at((slot + 3) % z_length)][at(y)]);
    }
    CHECK(difference.relative() < 1e-6);
}

}  // namespace

TEST_CASE("passes of several devices agree with reference transforms") {
    check_devices(1, 23, 4, 23, 23);
    check_devices(2, 24, 5, 20, 24);
    check_devices(2, 23, 23, 23, 19);
    check_devices(3, 23, 2, 22, 23);
    check_devices(4, 27, 3, 27, 25);
    check_devices(7, 23, 3, 20, 23);
    check_devices(8, 24, 2, 24, 24);
    check_devices(16, 23, 8, 23, 23);
}

TEST_CASE("slots are divided into parts as ranges are") {
    for (index_t parts = 1; parts <= SlotParts::most; ++parts) {
        for (const index_t slots : {1, 2, 5, 16, 511, 1024, 4096}) {
            const SlotParts divided = evenly_divided(slots, parts);
            bool agrees = true;
            for (index_t part = 0; part < parts; ++part)
                for (index_t s = slots * part / parts; s < slots * (part + 1) / parts; ++s)
                    agrees = agrees && divided.part(static_cast<int>(s)) == part;
            INFO(slots << " slots in " << parts << " parts");
            CHECK(agrees);
        }
    }
    CHECK_THROWS_AS(evenly_divided(1 << 16, 2), InternalError);
}

}  // namespace convolume::gpu
