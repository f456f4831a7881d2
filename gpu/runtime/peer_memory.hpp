// SPDX-License-Identifier: Apache-2.0
#pragma once
// One range of addresses whose pages lie on several devices. CUDA kernels of all these devices read
// and write it as they do their own memory, over NVLink or PCI Express.

#include <memory>
#include <string>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::gpu {

/// Returns a sentence that says why these devices cannot reach each other's memory; empty if they
/// can. A device may be named several times.
std::string why_no_peer_memory(const std::vector<int>& devices);

/// Whether NVLink connects all these devices. Others reach each other over PCI Express, which is
/// slower.
bool has_fast_links(const std::vector<int>& devices);

/// Lets devices access each other's memory, for the whole process, so that copies between them take
/// the shortest way. Copies between devices that cannot go through the host.
void enable_peer_access(const std::vector<int>& devices);

/// Waits for all work of a device, for destructors: failures are ignored.
void wait_for_device(int device);

/// Memory on several devices, one part after another. A page (2 MiB) at the border of two parts is
/// on either device. Move-only. The destructor waits for the devices.
class PeerMemory {
  public:
    struct Part {
        int device = 0;
        index_t bytes = 0;
    };

    PeerMemory();
    /// Allocates the parts and sets all bytes to 0. Throws OutOfMemory, which names `purpose`, if a
    /// device refuses, and Unavailable if the driver has no such memory.
    PeerMemory(const std::vector<Part>& parts, const char* purpose);
    ~PeerMemory();
    PeerMemory(PeerMemory&&) noexcept;
    PeerMemory& operator=(PeerMemory&&) noexcept;

    char* data() const;
    /// Returns the bytes that a part takes on its device, in whole pages.
    index_t bytes_of_part(std::size_t part) const;

  private:
    class Mapping;
    std::unique_ptr<Mapping> mapping_;
};

}  // namespace convolume::gpu
