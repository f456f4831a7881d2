// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "convolume/error.hpp"
#include "core/host_memory.hpp"
#include "core/threads.hpp"
#include "deconvolve/array_steps.hpp"
#include "deconvolve/host_arrays.hpp"
#include "deconvolve/run.hpp"
#include "deconvolve/runner.hpp"
#include "engines/engines.hpp"
#include "volumes/convolver_factory.hpp"

namespace convolume::deconvolve {

namespace {

// The caller's image and result, of types not known yet, as floats.
index_t caller_bytes(const Problem& problem) {
    return checked_multiply(2 * static_cast<index_t>(sizeof(float)), element_count(problem.image));
}

class HostRunner final : public Runner {
  public:
    HostRunner(const Problem& problem, const EngineChoice& choice)
        : threads_(thread_count(choice.threads)) {
        const index_t limit =
            problem.options.max_host_bytes.value_or(available_host_bytes() / 4 * 3);
        const index_t arrays = array_bytes(problem);
        const index_t own = checked_add(arrays, caller_bytes(problem));
        if (own >= limit)
            throw OutOfMemory(message("the deconvolution's arrays take ", format_bytes(arrays),
                                      " and its images ", format_bytes(own - arrays),
                                      ", but the limit is ", format_bytes(limit),
                                      ": raise it (max_host_bytes), or choose acceleration "
                                      "none"));
        // A convolver counts its input and output, which are arrays of the loop.
        const index_t each = checked_add((limit - own) / (problem.has_unmatched() ? 3 : 2),
                                         array_pair_bytes(problem));
        const EngineList engines = make_engines(choice);
        blur_.emplace(make(problem, problem.psf, Operation::convolve, each, engines));
        back_.emplace(make(problem, problem.psf, Operation::adjoint, each, engines));
        if (problem.has_unmatched())
            unmatched_.emplace(make(problem, problem.unmatched, Operation::adjoint, each, engines));

        plan_.object = problem.object;
        plan_.grid = blur_->plan().chosen.grid;
        plan_.array_bytes = arrays;
        for (const std::string& engine : blur_->plan().engines)
            plan_.engines += (plan_.engines.empty() ? "" : " ") + engine;
        index_t convolutions = 0;
        for (const std::optional<Convolver>* convolver : {&blur_, &back_, &unmatched_}) {
            if (!*convolver) continue;
            const PlanCandidate chosen = (*convolver)->plan().chosen;
            if (chosen.on_gpu)
                plan_.device_bytes = std::max(plan_.device_bytes, chosen.engine_bytes);
            convolutions += std::max<index_t>(0, chosen.host_bytes - array_pair_bytes(problem));
        }
        plan_.host_bytes = own + convolutions;
    }

    const DeconvolvePlan& plan() const override { return plan_; }

    DeconvolveReport execute(const Problem& problem, const Images& images,
                             const ExecutionContext& context, const DeconvolveRun& along) override {
        if (!arrays_)
            arrays_.emplace(problem, *blur_, *back_, threads_, unmatched_ ? &*unmatched_ : nullptr);
        arrays_->use(context);
        ArraySteps<HostArrays> steps(*arrays_, problem);
        return run(steps, problem, images, context, along);
    }

  private:
    static index_t array_pair_bytes(const Problem& problem) {
        return static_cast<index_t>(sizeof(float)) *
               (element_count(problem.object) + element_count(problem.image));
    }

    static Convolver make(const Problem& problem, const Volume& taps, Operation operation,
                          index_t limit, const EngineList& engines) {
        Options options = problem.blur(operation);
        options.max_host_bytes = limit;
        return ConvolverFactory::make(problem.object, taps.view(), options, engines);
    }

    int threads_;
    std::optional<Convolver> blur_;
    std::optional<Convolver> back_;
    std::optional<Convolver> unmatched_;
    DeconvolvePlan plan_;
    std::optional<HostArrays> arrays_;
};

}  // namespace

std::unique_ptr<Runner> make_host_runner(const Problem& problem, const EngineChoice& choice) {
    return std::make_unique<HostRunner>(problem, choice);
}

}  // namespace convolume::deconvolve
