// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run over many files: workers take them from one queue, each worker with engines and ready
// kernels of its own.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "cli/images/image_steps.hpp"
#include "cli/many_files/listed_file.hpp"
#include "cli/many_files/request.hpp"
#include "cli/many_files/survey.hpp"
#include "cli/run/progress.hpp"
#include "cli/text/console.hpp"

namespace convolume::cli {

/// What a worker computes with.
struct WorkerChoice {
    EngineChoice engines;
    index_t workers = 1;  ///< that share the host's memory
};

/// Makes the steps of one file after the other; what they keep between files is in it.
using MakeSteps = std::function<std::unique_ptr<ImageSteps>(const ListedFile&)>;
using MakeWorker = std::function<MakeSteps(const WorkerChoice&, const ExpectedVolumes&)>;

/// What the workers share. Files are independent; the rest is guarded.
class ManyFiles {
  public:
    ManyFiles(const ImageRequest& request, const ManyFilesRequest& many, Survey& survey,
              const Console& console, std::stop_token stop);

    const ImageRequest& request() const { return request_; }
    const ExpectedVolumes& expected() const { return survey_.expected; }
    std::stop_token stop() const { return stop_; }
    bool resume() const { return many_.resume; }
    ProgressMeter& meter() { return meter_; }
    const Console& console() const { return console_; }

    /// The next file; null where there is none or the run is to stop.
    ListedFile* next();
    /// Calls `print` while no other thread prints.
    void print(const std::function<void()>& print);
    /// Reports the plan of a file whose problem is new, and of others what reading them left out.
    void report_plan(const ListedFile& file, const ImageSteps& steps, const EngineChoice& engines);
    /// So much more of the work is done.
    void advance(double voxels);
    /// Nothing of a file's work was or will be needed.
    void leave_out(double voxels);
    void title(const ListedFile& file);
    /// A file is done, skipped or planned.
    void report(const ListedFile& file);
    void fail(ListedFile& file, const std::exception& error);
    /// What is left in the queue fails for the same reason.
    void fail_rest(const std::exception& error);

  private:
    const ImageRequest& request_;
    const ManyFilesRequest& many_;
    Survey& survey_;
    const Console& console_;
    std::stop_token stop_;
    std::mutex mutex_;        ///< of the queue and the progress
    std::mutex print_mutex_;  ///< of what is printed
    std::size_t next_ = 0;
    double done_ = 0;  ///< voxels, of `whole_`
    double whole_;
    std::set<std::string> reported_;  ///< problems
    ProgressMeter meter_;
};

/// What each worker may take of the limit, or of three quarters of the memory that is free.
index_t share_of_host_memory(std::optional<index_t> limit_bytes, index_t workers);

/// Carries out the run. Throws as survey_files() and throw_result(), after it has printed the table
/// and the object of --json.
void run_many_files(const ImageRequest& request, const ManyFilesRequest& many,
                    const std::string& truth, const MakeWorker& make_worker);

/// Runs `Steps` for the one image of the request, or for each of many.
template <class Steps, class Request>
void run_images(const Request& request, const ManyFilesRequest& many) {
    if (!many.asked) {
        run_steps<Steps>(request);
        return;
    }
    std::string truth;
    if constexpr (requires { request.truth; }) truth = request.truth;
    run_many_files(request, many, truth,
                   [&](const WorkerChoice& choice, const ExpectedVolumes& expected) -> MakeSteps {
                       Request of_worker = request;
                       of_worker.engines = choice.engines;
                       of_worker.create.overwrite = request.create.overwrite || many.resume;
                       if (choice.workers > 1)
                           of_worker.options.max_host_bytes =
                               share_of_host_memory(request.options.max_host_bytes, choice.workers);
                       auto cache = std::make_shared<typename Steps::Kernels::Cache>();
                       cache->expected = expected;
                       return [of_worker, cache](const ListedFile& file) {
                           Request of_file = of_worker;
                           of_file.image = file.image;
                           of_file.output = file.output;
                           if constexpr (requires { of_file.truth; }) of_file.truth = file.truth;
                           // No two files have the same noise.
                           if constexpr (requires { of_file.camera.seed; })
                               of_file.camera.seed += static_cast<std::uint64_t>(file.number - 1);
                           return std::make_unique<Steps>(of_file, cache);
                       };
                   });
}

}  // namespace convolume::cli
