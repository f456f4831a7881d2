// SPDX-License-Identifier: Apache-2.0
#pragma once
// Takes files from the queue and carries them out. While one is computed, the result of the one
// before it is brought to disk.

#include <exception>
#include <memory>
#include <thread>

#include "cli/many_files/many_files.hpp"

namespace convolume::cli {

class Worker {
  public:
    Worker(ManyFiles& shared, const MakeWorker& make_worker, const WorkerChoice& choice);
    ~Worker();

    /// Until the queue is empty, the run is to stop, or the demanded device has failed.
    void run();
    /// What that failure was; null where there was none.
    std::exception_ptr device_failure() const { return device_failure_; }

  private:
    struct FileRun;

    void carry_out(ListedFile& file);
    std::unique_ptr<FileRun> compute(ListedFile& file);
    void commit(FileRun& run);
    void finish_pending();

    ManyFiles& shared_;
    const MakeWorker& make_worker_;
    WorkerChoice choice_;
    MakeSteps make_steps_;
    std::string problem_;  ///< of the file before
    std::unique_ptr<FileRun> pending_;
    std::thread committing_;  ///< commits `pending_`
    std::exception_ptr device_failure_;
};

}  // namespace convolume::cli
