// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolutions of data in slabs of planes, in the memory of several devices. Programs differ in how
// the transform along z gets planes of other devices: they exchange halos (halo_program.cpp), or
// divide the columns (column_program.cpp). spread_program.cpp chooses.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/gpu_backend.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/meeting.hpp"
#include "gpu/runtime/peer_memory.hpp"
#include "gpu/runtime/stream.hpp"
#include "gpu/volumes/halo_geometry.hpp"
#include "gpu/volumes/program_images.hpp"
#include "gpu/volumes/spread_tuning.hpp"

namespace convolume::gpu {

/// Returns the planes that each device computes, of the result before it is folded.
std::vector<IndexRange> stored_planes(const DeviceProgramSpec& spec,
                                      const std::vector<ProgramSlab>& slabs);
/// Returns the bytes of the result before it is folded on one of `parts` devices; 0 without a fold.
index_t extended_share_bytes(const DeviceProgramSpec& spec, std::size_t parts);

/// Returns the frequencies along x of a chunk, whole column tiles.
IndexRange frequency_chunk(const BlockGeometry& geometry, std::size_t chunk, std::size_t chunks);

/// The order of executions, and the results of all slabs.
class SlabProgram : public SpreadProgram {
  public:
    void run(std::span<const SlabData> slabs, const void* kernel) final;
    index_t bytes(std::size_t slab) const final;

  protected:
    SlabProgram(const DeviceProgramSpec& spec, const std::vector<ProgramSlab>& slabs);

    /// Enqueues all work that writes results to target_of().
    virtual void enqueue(std::span<const SlabData> slabs, const void* kernel) const = 0;
    /// Makes later work of `stream` wait for the streams that the program owns on a slab's device.
    virtual void join_own_streams(std::size_t slab, cudaStream_t stream) const = 0;
    /// Returns the bytes of a slab's spectra and kernel.
    virtual index_t bytes_of_transforms(std::size_t slab) const = 0;

    std::size_t parts() const { return slabs_.size(); }
    const ProgramSlab& slab(std::size_t i) const { return slabs_[i]; }
    const std::vector<int>& devices() const { return devices_; }
    const SpreadTuning& tuning() const { return tuning_; }
    const ProgramImages& images(std::size_t i) const { return results_[i]->images; }
    const IndexRange& stored(std::size_t i) const { return stored_[i]; }
    /// Returns where a device stores its planes.
    RowTarget target_of(std::size_t i, const SlabData& data) const;
    static StreamList streams_of(std::span<const SlabData> slabs);
    /// Calls the tuning's function between steps.
    void on_step(std::span<const SlabData> slabs) const;
    /// Calls work(slab, data, stream) for every slab, whose device is then the current one.
    template <class Work>
    void on_devices(std::span<const SlabData> slabs, const Work& work) const {
        for (std::size_t i = 0; i < parts(); ++i) {
            const DeviceScope scope(devices_[i]);
            work(i, slabs[i], static_cast<cudaStream_t>(slabs[i].stream));
        }
    }

  private:
    struct Results {
        ProgramImages images;
        std::optional<ResultFold> fold;
        StreamOrder order;
        Results(const DeviceProgramSpec& spec, int device);
    };

    void enqueue_all(std::span<const SlabData> slabs, const void* kernel);
    /// Calls work() after the last use of all slabs from `first` on.
    template <class Work>
    void in_order(std::span<const SlabData> slabs, std::size_t first, const Work& work);
    bool has_fold() const { return results_.front()->fold.has_value(); }

    std::vector<ProgramSlab> slabs_;
    std::vector<int> devices_;
    std::vector<IndexRange> stored_;
    std::vector<std::unique_ptr<Results>> results_;
    SpreadTuning tuning_;
    Meeting after_interruption_, stored_meeting_, end_;
    PeerMemory extended_;  ///< result before it is folded
    index_t plane_bytes_of_extended_ = 0;
    bool is_interrupted_ = false;  ///< an exception ended the last run
};

/// Returns the bytes of a kernel that comes with each run; 0 if there is none.
index_t run_kernel_bytes(const DeviceProgramSpec& spec);
/// Whether slab i has a copy of such a kernel. It comes to the first slab's device.
bool copies_run_kernel(const std::vector<HaloSlab>& halos, const std::vector<int>& devices,
                       std::size_t i);

/// Returns a program whose devices each transform a share of the columns along z. `geometry` is of
/// the whole block.
std::unique_ptr<SpreadProgram> make_column_program(const DeviceProgramSpec& spec,
                                                   const std::vector<ProgramSlab>& slabs,
                                                   const BlockGeometry& geometry);
/// Returns a program whose devices transform the columns of their own planes and halos.
/// `hides_copies`: other planes take longer to transform than halos to arrive.
std::unique_ptr<SpreadProgram> make_halo_program(const DeviceProgramSpec& spec,
                                                 const std::vector<ProgramSlab>& slabs,
                                                 const std::vector<HaloSlab>& halos,
                                                 bool hides_copies);

}  // namespace convolume::gpu
