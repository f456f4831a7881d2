// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files of a run over many: their names and headers before anything is computed, which of them
// can share a plan, and what became of each.

#include <exception>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "cli/images/image_request.hpp"
#include "cli/run/errors.hpp"
#include "convolume/shape.hpp"

namespace convolume::cli {

enum class Outcome {
    not_started,
    planned,  ///< in a dry run
    done,     ///< the result is complete
    skipped,  ///< it was complete before
    failed,   ///< for `reason`
    stopped,  ///< by a signal
};
const char* to_string(Outcome outcome);

struct ListedFile {
    index_t number = 0;  ///< from 1
    std::string image;
    std::string output;   ///< empty in a dry run without a folder
    std::string truth;    ///< empty for none
    std::string problem;  ///< files of the same share a plan
    double voxels = 0;

    Outcome outcome = Outcome::not_started;
    double seconds = 0;
    std::string reason;  ///< of a failure, a sentence
    ExitCode code = ExitCode::ok;
    nlohmann::ordered_json json;  ///< what a run of this file alone would print

    void fail(const std::exception& error, const HasOption& has_option);
};

/// A line for each file: its path, result, seconds, output or reason.
std::string results_table(const std::vector<ListedFile>& files);

/// "18 done, 1 complete before, 1 failed".
std::string results_line(const std::vector<ListedFile>& files);

/// The object of --json.
nlohmann::ordered_json results_json(const std::vector<ListedFile>& files);

/// Throws what the run as a whole ends with: Cancelled where it was stopped before its end, else
/// FilesFailed where files failed, with the code that all share or `some_files_failed`.
void throw_result(const std::vector<ListedFile>& files, bool dry_run);

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
