// SPDX-License-Identifier: Apache-2.0
#pragma once
// --dump-every: the estimate as it is after some iterations, in files beside the result.

#include <string>
#include <vector>

#include "convolume/deconvolver.hpp"
#include "convolume/image_file.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

/// "a/b.iter010.ome.tif" for the result "a/b.ome.tif" and iteration 10. Of several volumes
/// "a/b.t2.c0.iter010.ome.tif", with time and channel from 0. Numbers have as many digits as the
/// last one, iterations three at least.
std::string estimate_name(const std::string& result, const io::ImageMetadata& image, index_t volume,
                          int iteration, int iterations);

class EstimateFiles {
  public:
    /// An estimate after every `every` of at most `iterations`, as volumes of `result`, of its
    /// extents and of `type`. Throws OutputExists, or CannotCreate, or InvalidArgument where one of
    /// them would be one of the inputs, before anything is computed.
    EstimateFiles(int every, int iterations, std::string path, const io::ImageMetadata& result,
                  PixelType type, io::CreateOptions create, const std::vector<std::string>& inputs);

    /// After each iteration of volume number `volume`; writes where it is time.
    void take(index_t volume, const Iteration& iteration, const EstimateReader& read);

    const std::vector<std::string>& written() const { return written_; }
    /// Removes what was written.
    void remove();

  private:
    io::ImageMetadata metadata_of(index_t volume) const;

    int every_;
    int iterations_;
    std::string path_;
    io::ImageMetadata result_;
    io::CreateOptions create_;
    Volume estimate_;
    std::vector<std::string> written_;
};

}  // namespace convolume::cli
