// SPDX-License-Identifier: Apache-2.0
#pragma once
// Boxes of chunked datasets: HDF5 gives the chunks as they are stored, one at a time; several
// threads decode them.

#include "io/chunk_cache.hpp"
#include "io/hdf5/dataset.hpp"

namespace convolume::io {

/// Reads `box` of the volume at `place` from a dataset whose storage is chunks. `number` tells the
/// datasets that share `cache` apart. Throws BadData, or IoError when the file was changed.
void read_chunks(const Hdf5Dataset& dataset, index_t number, const Hdf5Volume& place,
                 const Box3& box, const ImageView& target, ChunkCache& cache);

/// Bytes of two layers of chunks across the volume, at most 256 MiB: what a cache needs so that a
/// walk along z in small steps decodes every chunk once.
index_t chunk_cache_bytes(const Hdf5Dataset& dataset, const Hdf5Volume& place);

}  // namespace convolume::io
