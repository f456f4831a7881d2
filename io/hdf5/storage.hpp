// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a dataset is stored, for reading it without HDF5, which does one thing at a time.

#include <optional>
#include <vector>

#include "io/hdf5/chunk_codec.hpp"
#include "io/hdf5/handle.hpp"
#include "io/hdf5/types.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {

struct Hdf5Storage {
    enum class Kind {
        library,     ///< only HDF5 can read it
        contiguous,  ///< samples in one run
        chunks,      ///< filtered by shuffle and deflate at the most
    };
    Kind kind = Kind::library;
    bool swapped = false;  ///< bytes in the other order than this machine's
    index_t offset = 0;    ///< in the file, of contiguous samples
    ChunkFilters filters;  ///< of chunks
};

/// `properties` are those the dataset was created with; `bytes` are those of its samples.
Hdf5Storage find_storage(hid_t dataset, hid_t properties, PixelType type, index_t bytes,
                         const RawFile& file);

}  // namespace convolume::io
