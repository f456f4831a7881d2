// SPDX-License-Identifier: Apache-2.0
// Chooses how a convolution of data in the memory of several devices is divided.

#include <algorithm>
#include <optional>
#include <utility>

#include "convolume/error.hpp"
#include "core/machine_rates.hpp"
#include "gpu/backend.hpp"
#include "gpu/volumes/slab_program.hpp"
#include "gpu/volumes/spread_block.hpp"
#include "gpu/volumes/spread_geometry.hpp"
#include "gpu/volumes/spread_tuning.hpp"

namespace convolume::gpu {

namespace {

/// One way to divide the work: with halos, or by columns.
struct Division {
    std::vector<HaloSlab> halos;  ///< none: columns are divided
    BlockGeometry columns;
    bool fits = false;
    double seconds = 0;  ///< predicted
    bool hides_copies = true;
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
        rates_ = device_rates(devices_[0]);
        link_bytes_per_s_ = why_no_peers_.empty() && has_fast_links(devices_)
                                ? rates_.machine.gpu_link_bytes_per_s
                                : rates_.to_device;
        const index_t extended = extended_share_bytes(spec, devices_.size());
        for (const int device : devices_) {
            const index_t whole =
                spec.memory_limit_bytes > 0 ? spec.memory_limit_bytes : usable_device_bytes(device);
            const index_t here = whole / occurrences_of(devices_, device);
            least_limit_ = limits_.empty() ? here : std::min(least_limit_, here);
            limits_.push_back(std::max<index_t>(here - extended, 1));
        }
    }

    std::unique_ptr<SpreadProgram> make() const {
        std::string why_none = why_no_peers_;  // if neither way is possible
        bool is_possible = false;
        std::optional<Division> best;
        const auto consider = [&](Division division) {
            is_possible = true;
            // Links may take all the time of a pass. A kept spectrum, which comes first, is then as
            // fast, and leaves the GPUs less to compute.
            if (division.fits && (!best || division.seconds < 0.999 * best->seconds))
                best = std::move(division);
        };
        for (const bool keep : {true, false}) {
            if (keep && !spec_.keep_spectrum) continue;
            Division halos = with_halos(keep), columns = by_columns(keep);
            if (why_none.empty()) why_none = why_no_passes(spec_.block, columns.columns);
            const bool has_halos = !halos.halos.empty(), has_columns = why_none.empty();
            const std::optional<SpreadMethod> forced = spread_tuning().method;
            if (has_halos && (forced != SpreadMethod::columns || !has_columns))
                consider(std::move(halos));
            if (has_columns && (forced != SpreadMethod::halos || !has_halos))
                consider(std::move(columns));
        }
        if (!is_possible) throw GpuUnavailable(why_none);
        if (!best)
            throw OutOfMemory(message("this convolution does not fit ", format_bytes(least_limit_),
                                      " of memory on each of ", devices_.size(),
                                      " GPUs: free some, or take more GPUs"),
                              MemoryKind::gpu);
        if (best->halos.empty()) return make_column_program(spec_, slabs_, best->columns);
        return make_halo_program(spec_, slabs_, best->halos, best->hides_copies);
    }

  private:
    Division with_halos(bool keep) const {
        Division division;
        // The result is folded from the memory of all devices.
        if (!spec_.fold_sources[0].empty() && !why_no_peers_.empty()) return division;
        division.halos = halo_slabs(spec_.block, spec_.kernel_shift.z, spec_.gather[0], inputs_,
                                    stored_, devices_, limits_, rates_, keep);
        division.fits = true;
        for (std::size_t i = 0; i < division.halos.size(); ++i) {
            const index_t taps =
                copies_run_kernel(division.halos, devices_, i) ? run_kernel_bytes(spec_) : 0;
            division.fits =
                division.fits && checked_add(division.halos[i].bytes(), taps) <= limits_[i];
        }
        const HaloTimes times = halo_times(division.halos, rates_, link_bytes_per_s_);
        division.seconds = times.seconds;
        division.hides_copies = times.hides_copies;
        return division;
    }

    Division by_columns(bool keep) const {
        Division division;
        BlockGeometry& geometry = division.columns;
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
    std::vector<index_t> limits_;  ///< bytes for each slab, without its part of a folded result
    index_t least_limit_ = 0;      ///< of all devices
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
