// SPDX-License-Identifier: Apache-2.0
// Chooses how a convolution of data in the memory of several devices is divided.

#include <algorithm>
#include <optional>

#include "convolume/error.hpp"
#include "core/machine_rates.hpp"
#include "gpu/backend.hpp"
#include "gpu/volumes/slab_program.hpp"
#include "gpu/volumes/spread_tuning.hpp"

namespace convolume::gpu {

namespace {

/// A division, whether its memory fits, and its predicted times.
struct HaloDivision {
    std::vector<HaloSlab> layout;
    bool fits = false;
    HaloTimes times;
};
struct ColumnDivision {
    BlockGeometry layout;
    bool fits = false;
    double seconds = 0;
};

class DivisionChoice {
  public:
    DivisionChoice(const DeviceProgramSpec& spec, const std::vector<ProgramSlab>& slabs)
        : spec_(spec), slabs_(slabs), stored_(stored_planes(spec, slabs)) {
        for (const ProgramSlab& slab : slabs) {
            require_device(slab.device);
            devices_.push_back(slab.device);
            inputs_.push_back(slab.input);
        }
        try {
            why_no_peers_ = spread_tuning().reaches_peers
                                ? why_no_peer_memory(devices_)
                                : "the GPUs are not to reach each other's memory";
        } catch (const GpuUnavailable& error) {  // the driver has no such memory
            why_no_peers_ = error.what();
        }
        const MachineRates machine;
        rates_.device = devices_[0];
        rates_.memory = device_properties(devices_[0]).memory_bytes_per_s * machine.gpu_pass_share;
        link_bytes_per_s_ = why_no_peers_.empty() && has_fast_links(devices_)
                                ? machine.gpu_link_bytes_per_s
                                : rates_.to_device;
        for (const int device : devices_) {
            const index_t whole =
                spec.memory_limit_bytes > 0 ? spec.memory_limit_bytes : usable_device_bytes(device);
            limits_.push_back(whole / occurrences_of(devices_, device) -
                              extended_share_bytes(spec, devices_.size()));
        }
    }

    std::unique_ptr<SpreadProgram> make() const {
        const std::optional<SpreadMethod> forced = spread_tuning().method;
        std::string why_no_columns = why_no_peers_;
        for (const bool keep : {true, false}) {
            if (keep && !spec_.keep_spectrum) continue;
            const auto halos = with_halos(keep);
            const auto columns = by_columns(keep);
            if (why_no_columns.empty()) why_no_columns = why_no_passes(spec_.block, columns.layout);
            const bool may_columns = columns.fits && why_no_columns.empty() &&
                                     (forced != SpreadMethod::halos || halos.layout.empty());
            const bool may_halos =
                halos.fits && (forced != SpreadMethod::columns || !why_no_columns.empty());
            if (may_halos && (!may_columns || halos.times.seconds <= columns.seconds))
                return make_halo_program(spec_, slabs_, halos.layout, halos.times.hides_copies);
            if (may_columns) return make_column_program(spec_, slabs_, columns.layout);
            if (!keep && halos.layout.empty() && !why_no_columns.empty())
                throw GpuUnavailable(why_no_columns);
        }
        throw OutOfMemory(message("this convolution does not fit ",
                                  format_bytes(*std::min_element(limits_.begin(), limits_.end())),
                                  " of memory on each of ", devices_.size(),
                                  " GPUs: free some, or take more GPUs"),
                          MemoryKind::gpu);
    }

  private:
    HaloDivision with_halos(bool keep) const {
        HaloDivision division;
        // The result is folded from the memory of all devices.
        if (!spec_.fold_sources[0].empty() && !why_no_peers_.empty()) return division;
        division.layout = halo_slabs(spec_.block, spec_.kernel_shift.z, spec_.gather[0], inputs_,
                                     stored_, devices_, keep);
        division.fits = !division.layout.empty();
        for (std::size_t i = 0; i < division.layout.size(); ++i)
            division.fits = division.fits && division.layout[i].bytes() <= limits_[i];
        division.times = halo_times(division.layout, rates_, link_bytes_per_s_);
        return division;
    }

    ColumnDivision by_columns(bool keep) const {
        ColumnDivision division;
        BlockGeometry& geometry = division.layout;
        geometry = spread_geometry(spec_.block, {0, 0}, devices_.size(), rates_, keep);
        geometry.kernel_shift = spec_.kernel_shift.z;
        const SpreadBytes bytes = spread_bytes(geometry, devices_.size());
        division.fits = checked_add(bytes.spectra, bytes.kernel) <=
                        *std::min_element(limits_.begin(), limits_.end());
        division.seconds =
            spread_times(spec_.block, geometry, devices_.size(), rates_, link_bytes_per_s_)
                .compute_s;
        return division;
    }

    const DeviceProgramSpec& spec_;
    const std::vector<ProgramSlab>& slabs_;
    std::vector<IndexRange> inputs_, stored_;
    std::vector<int> devices_;
    std::vector<index_t> limits_;  ///< bytes for each slab
    DeviceRates rates_;
    double link_bytes_per_s_ = 1;
    std::string why_no_peers_;
};

}  // namespace

SpreadTuning& spread_tuning() {
    static SpreadTuning tuning;
    return tuning;
}

std::unique_ptr<SpreadProgram> make_spread_program(const DeviceProgramSpec& spec,
                                                   const std::vector<ProgramSlab>& slabs) {
    return DivisionChoice(spec, slabs).make();
}

}  // namespace convolume::gpu
