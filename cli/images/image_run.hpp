// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs that make one image of another, for one image or many. Of many, workers take files from one
// queue, each worker with engines and ready kernels of its own.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cli/files/selected_image.hpp"
#include "cli/images/image_request.hpp"
#include "cli/images/listed_files.hpp"
#include "cli/run/run.hpp"
#include "convolume/engines.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

/// Steps of a run that makes one image of another.
class ImageSteps : public RunSteps {
  public:
    /// Image that is read; known after open().
    const io::ImageMetadata& input() const { return input_; }
    /// What is written; known after plan().
    const io::ImageMetadata& output() const { return output_; }
    void commit() override { writer_->commit(); }

  protected:
    index_t volumes() const { return input_.frames * input_.channels; }

    std::unique_ptr<SelectedImage> reader_;
    std::unique_ptr<io::ImageWriter> writer_;
    index_t nonfinite_ = 0;  ///< samples of the result
    io::ImageMetadata input_;
    io::ImageMetadata output_;
};

/// Engines and share of a worker.
struct WorkerChoice {
    EngineChoice engines;
    index_t workers = 1;  ///< that share the host's memory
};

/// Makes the steps of one file after the other; what they keep between files is in it.
using MakeSteps = std::function<std::unique_ptr<ImageSteps>(const ListedFile&)>;
using MakeWorker = std::function<MakeSteps(const WorkerChoice&, const ExpectedVolumes&)>;

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
                               host_limit_bytes(request.options.max_host_bytes) / choice.workers;
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
