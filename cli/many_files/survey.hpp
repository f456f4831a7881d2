// SPDX-License-Identifier: Apache-2.0
#pragma once
// Many files before anything is computed: their names, their headers, and which can share a plan.

#include <stop_token>
#include <string>
#include <vector>

#include "cli/images/image_request.hpp"
#include "cli/many_files/listed_file.hpp"
#include "cli/many_files/request.hpp"

namespace convolume::cli {

struct Survey {
    std::vector<ListedFile> files;   ///< as named; those with bad headers have failed
    std::vector<std::size_t> order;  ///< of the others: those that share a plan follow one another
    ExpectedVolumes expected;        ///< of `order`
    double voxels = 0;               ///< of `order`
};

/// Expands patterns and the list, names the outputs, and creates the folder for them. `truth` is
/// the pattern of second outputs, or empty. Throws InvalidArgument where an output is an input or
/// another output, InputNotFound where there are no files, CannotCreate, and what kernels throw.
/// After a request to stop no more headers are read.
Survey survey_files(const ImageRequest& request, const ManyFilesRequest& many,
                    const std::string& truth, const std::stop_token& stop);

/// Whether the outputs of a file are complete: not older than `inputs`, and the image of the
/// expected shape and type.
bool is_complete(const ListedFile& file, const std::vector<std::string>& inputs,
                 const io::ImageMetadata& expected);

}  // namespace convolume::cli
