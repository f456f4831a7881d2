// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs that make one image of another, for one image or many. If there are many, workers take files
// from one queue. Each worker has its own engines and its own cache of kernels.

#include <cstdint>
#include <functional>
#include <memory>

#include "cli/images/image_request.hpp"
#include "cli/images/image_steps.hpp"
#include "cli/images/listed_files.hpp"
#include "cli/run/run.hpp"
#include "convolume/engines.hpp"

namespace convolume::cli {

/// Engines of a worker, and its share of the host's memory.
struct WorkerResources {
    EngineChoice engines;
    index_t workers = 1;  ///< number of workers that share the host's memory
};

/// Makes the steps of one file after the other, and holds what they keep between files.
using StepsFactory = std::function<std::unique_ptr<ImageSteps>(const ListedFile&)>;
/// Makes the StepsFactory of a worker.
using WorkerFactory = std::function<StepsFactory(const WorkerResources&, const ExpectedVolumes&)>;

/// Runs many files. Prints the table of results and the object of --json, then throws as
/// throw_result() does. Throws as list_files() does.
void run_many_files(const ImageRequest& request, const ManyFilesRequest& many,
                    const WorkerFactory& worker_factory);

/// Runs `Steps` for the one image of the request, or for each of many.
template <class Steps, class Request>
void run_images(const Request& request, const ManyFilesRequest& many) {
    if (!many.is_many) {
        run_steps<Steps>(request);
        return;
    }
    run_many_files(
        request, many,
        [&](const WorkerResources& resources, const ExpectedVolumes& expected) -> StepsFactory {
            Request of_worker = request;
            of_worker.engines = resources.engines;
            of_worker.create.overwrite = request.create.overwrite || many.resume;
            if (resources.workers > 1)
                of_worker.options.max_host_bytes =
                    host_limit_bytes(request.options.max_host_bytes) / resources.workers;
            auto cache = std::make_shared<typename Steps::Kernels::Cache>();
            cache->expected = expected;
            return [of_worker, cache](const ListedFile& file) {
                Request of_file = of_worker;
                of_file.image = file.image;
                of_file.output = file.output;
                of_file.second_output = file.second_output;
                // Each file has its own noise.
                if constexpr (requires { of_file.camera.seed; })
                    of_file.camera.seed += static_cast<std::uint64_t>(file.number - 1);
                return std::make_unique<Steps>(of_file, cache);
            };
        });
}

}  // namespace convolume::cli
