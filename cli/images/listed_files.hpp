// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files of a run over many images. Names and headers are read before anything is computed.
// Files that can share a plan follow one another, and each file has a status that is reported.

#include <exception>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "cli/images/image_request.hpp"
#include "cli/run/errors.hpp"
#include "convolume/shape.hpp"

namespace convolume::cli {

enum class FileStatus {
    not_started,
    planned,  ///< planned in a dry run
    done,     ///< the result is complete
    skipped,  ///< the result was complete before the run
    failed,   ///< failed; ListedFile::reason says why
    stopped,  ///< interrupted by a signal
};
const char* to_string(FileStatus status);

/// An image of the run, its outputs and its status.
struct ListedFile {
    index_t number = 0;  ///< number of the file, from 1
    std::string image;
    std::string output;         ///< path of the result; empty in a dry run without a folder
    std::string second_output;  ///< path of the second result; empty for none
    std::string solver_keys;    ///< solver_key() of all kernels: equal if files share their plans
    double voxels = 0;          ///< voxels of all volumes
    index_t channels = 0;       ///< number of channels; 0 if the header is unreadable

    FileStatus status = FileStatus::not_started;
    double seconds = 0;
    std::string reason;  ///< reason of a failure, as a sentence
    ExitCode code = ExitCode::ok;
    nlohmann::ordered_json json;  ///< object of --json for this file

    /// Sets status and reason after an exception.
    void fail(const std::exception& error, const HasOption& has_option);
};

/// Returns a table with a line for each file: path, result, seconds, and output or reason.
std::string results_table(const std::vector<ListedFile>& files);

/// Returns the numbers of files by status, such as "18 done, 1 complete before, 1 failed".
std::string results_line(const std::vector<ListedFile>& files);

/// Returns the object of --json.
nlohmann::ordered_json results_json(const std::vector<ListedFile>& files);

/// Throws an exception if the run did not succeed: Cancelled if it was stopped, FilesFailed if
/// files failed, with the exit code that all have in common or `some_files_failed`.
void throw_result(const std::vector<ListedFile>& files, bool dry_run);

/// The files of a run, and the order in which they are run.
struct FileList {
    std::vector<ListedFile> files;  ///< all files; those with unreadable headers have failed
    std::vector<std::size_t>
        order;                 ///< indices of readable files; files that share plans are neighbors
    ExpectedVolumes expected;  ///< volumes of the files in `order`
    double voxels = 0;         ///< voxels of the files in `order`
};

/// Expands patterns and the list, names the outputs, creates their folder, and reads the headers.
/// Throws InvalidArgument if an output is also an input or another output, InputNotFound if there
/// are no files, CannotCreate, and what opening kernels throws. Reads no more headers after a
/// request to stop.
FileList list_files(const ImageRequest& request, const ManyFilesRequest& many,
                    const std::stop_token& stop);

/// Returns true if the outputs of a file are complete: they are not older than `inputs`, and the
/// image has the expected shape and type.
bool is_complete(const ListedFile& file, const std::vector<std::string>& inputs,
                 const io::ImageMetadata& expected);

}  // namespace convolume::cli
