// SPDX-License-Identifier: Apache-2.0
#pragma once
// Carries out the operations of any method over whole arrays. The class `Arrays` offers
//
// - object(i), image(i): the i-th array of the object's or the image's extents
// - blur(object, image), blur_back(image, object): A and its adjoint
// - back_project_unmatched(image, object): the unmatched back projector
// - for_each(extent, functor): calls functor(i) for every i below a count, or functor(i, neighbors)
//   for every voxel of a VoxelGrid
// - sum(extent, functor): also adds up the results, always in the same order
// - write(values, array, first, count), read(…): copy between the host and an array
// - staging, threads(): kind of host memory for transfers, and number of host threads
// - records_phases, if its work records phases by itself
// - use_part(k), use_all(), if pixels are in parts (DeconvolutionProblem::parts): the pixels that
//   blur() and blur_back() are of from now on; use_part() returns their range

#include <array>
#include <initializer_list>
#include <utility>
#include <vector>

#include "deconvolve/estimates/photons.hpp"
#include "deconvolve/executors/executor.hpp"
#include "deconvolve/registry.hpp"

namespace convolume::deconvolve {

template <class Arrays>
class ArrayExecutor final : public Executor {
  public:
    /// Makes an executor that keeps references to both arguments.
    ArrayExecutor(Arrays& arrays, const DeconvolutionProblem& problem)
        : arrays_(arrays), problem_(problem) {
        int objects = 0, images = 0;
        const auto object = [&](bool wanted) {
            return wanted ? arrays.object(objects++) : nullptr;
        };
        const auto image = [&](bool wanted) { return wanted ? arrays.image(images++) : nullptr; };
        const MethodTraits& traits = problem.traits;
        estimate_ = object(true);
        if (traits.solves_system) {
            residual_ = object(true);
            direction_ = object(true);
            product_ = object(true);
            data_ = model_ = image(true);  // linear systems read the data only once
            return;
        }
        correction_ = object(true);
        weights_ = object(true);
        for (int k = 0; problem.parts > 1 && k < problem.parts; ++k)
            weights_of_parts_.push_back(k == 0 ? weights_ : object(true));
        of(ArrayRole::other_object) = object(traits.draws_halves);
        previous_ = object(traits.keeps_previous);
        change_ = object(traits.keeps_change);
        data_ = image(true);
        model_ = image(true);
        of(ArrayRole::held_out) = image(problem.options.hold_out);
        pixel_weights_ = image(problem.options.has_pixel_weights);
        of(ArrayRole::other_image) = image(traits.draws_halves);
    }

    HostMemory staging() const override { return Arrays::staging; }
    int threads() const override { return arrays_.threads(); }
    bool records_phases() const override {
        return requires {
            Arrays::records_phases;
        };
    }

    void write_image(const float* values, index_t first, index_t count) override {
        arrays_.write(values, data_, first, count);
    }
    void write_pixel_weights(const float* values, index_t first, index_t count) override {
        arrays_.write(values, array(ArrayRole::pixel_weights), first, count);
    }
    void fill_pixel_weights(float value, index_t first, index_t count) override {
        arrays_.for_each(count, ConstantFill{array(ArrayRole::pixel_weights) + first, value});
    }
    void divide_pixel_weights(float divisor) override {
        arrays_.for_each(pixels_, InPlaceDivision{array(ArrayRole::pixel_weights), divisor});
    }
    void scale_image(index_t first, index_t count, float factor, float offset) override {
        arrays_.for_each(count, LightAboveOffset{data_ + first, factor, offset});
    }
    void write_estimate(const float* values, index_t first, index_t count) override {
        arrays_.write(values, estimate_, first, count);
    }
    void read_estimate(float* values, index_t first, index_t count) const override {
        arrays_.read(values, estimate_, first, count);
    }

    void hold_out(const PhotonScale& photons, int halvings) override {
        arrays_.for_each(pixels_,
                         hold_out_functor(data_, array(ArrayRole::held_out), photons, halvings));
    }
    void put_back() override {
        arrays_.for_each(pixels_, ScaledAddition{data_, array(ArrayRole::held_out), 1});
    }

    void begin(const LoadedImage& image, float held_out_share) override {
        // An execution that ended early may have left a part in use.
        if constexpr (has_parts) arrays_.use_all();
        step_settings_ = settings_of(problem_, image, held_out_share);
        is_complete_ = true;
        if (problem_.traits.solves_system) {
            arrays_.for_each(pixels_,
                             ConstantAddition{data_, -static_cast<float>(image.background)});
            arrays_.blur_back(data_, residual_);
            arrays_.for_each(voxels_, ConstantFill{estimate_, 0});
            arrays_.for_each(voxels_, ArrayCopy{residual_, direction_});
            return;
        }
        if (problem_.compares_all())
            arrays_.for_each(pixels_, ConstantFill{model_, 1});
        else
            arrays_.for_each(pixels_, ComparedMask{data_, model_, pixel_weights_});
        // Steps by parts need the weights of all pixels only here.
        float* const all_weights = weights_of_parts_.empty() ? weights_ : correction_;
        arrays_.blur_back(model_, all_weights);
        if (write_start(image))
            arrays_.for_each(voxels_, begin_functor(image, estimate_, {all_weights}));
        else
            arrays_.for_each(voxels_, ConstantFill{estimate_, mean_at_start(image)});
        begin_parts(all_weights);
    }

    StepResult iterate(const StepStart& start, const IterationProgress& progress) override {
        complete(start);
        StepResult result;
        for_each_part([&](int) {
            ArrayOperations operations{{}, *this, start, progress, {}, false};
            run_iteration(problem_.options.method, operations);
            result.refused = operations.result.refused;
            for (std::size_t i = 0; i < result.sums.size(); ++i)
                result.sums[i] += operations.result.sums[i];
        });
        is_complete_ = false;
        return result;
    }

    void complete(const StepStart& start) override {
        if (std::exchange(is_complete_, true) || !problem_.traits.solves_system) return;
        arrays_.for_each(voxels_, Wiener::advance(ArrayViews{*this}, start));
    }

  private:
    static constexpr bool has_parts = requires(Arrays & arrays) { arrays.use_part(0); };

    /// Calls `use(k)` for the pixels of each part, which arrays of images then begin with; or once
    /// for all pixels.
    template <class Use>
    void for_each_part(const Use& use) {
        if constexpr (has_parts)
            if (problem_.parts > 1) {
                const std::array<float*, array_roles> whole = arrays_of_roles_;
                for (int k = 0; k < problem_.parts; ++k) {
                    const IndexRange range = arrays_.use_part(k);
                    for (const ArrayRole role : {ArrayRole::data, ArrayRole::model,
                                                 ArrayRole::held_out, ArrayRole::pixel_weights}) {
                        float* const all = whole[static_cast<std::size_t>(role)];
                        of(role) = all == nullptr ? nullptr : all + range.begin;
                    }
                    pixels_ = range.end - range.begin;
                    weights_ = weights_of_parts_[static_cast<std::size_t>(k)];
                    use(k);
                }
                for (const ArrayRole role : {ArrayRole::data, ArrayRole::model, ArrayRole::held_out,
                                             ArrayRole::pixel_weights})
                    of(role) = whole[static_cast<std::size_t>(role)];
                pixels_ = problem_.pixels();
                arrays_.use_all();
                return;
            }
        use(0);
    }

    /// Finds the weights of each part; the model array has the pixels that are compared. Voxels
    /// that no part sees start with 0, since steps leave those that their part does not see.
    void begin_parts(const float* all_weights) {
        if (problem_.parts == 1) return;
        arrays_.for_each(voxels_, UnseenVoxels{estimate_, all_weights, least_weight});
        for_each_part([&](int) { arrays_.blur_back(model_, weights_); });
    }

    /// Views of the whole arrays, from which functors are made (method.hpp).
    struct ArrayViews {
        const ArrayExecutor& executor;
        float* object(ArrayRole role) const { return executor.array(role); }
        float* image(ArrayRole role) const { return executor.array(role); }
        const float* data() const { return executor.data_; }
        const float* held_out() const {
            return executor.step_settings_.held_out_share > 0 ? object(ArrayRole::held_out)
                                                              : nullptr;
        }
        const float* weights() const { return executor.weights_; }
        PixelNumbers pixel_numbers() const { return {}; }
    };

    /// The operations of one iteration (method.hpp). After a refusal they do nothing.
    struct ArrayOperations : FunctorOperations<ArrayOperations> {
        static constexpr bool steps_overwrite_neighbors = false;
        using ArrayRoles = std::initializer_list<ArrayRole>;

        ArrayExecutor& executor;
        const StepStart& at_start;
        const IterationProgress& progress;
        StepResult result;
        bool is_accepted = false;

        const StepSettings& settings() const { return executor.step_settings_; }
        const StepStart& start() const { return at_start; }

        void load_point() { executor.load_point(at_start); }
        void compare(float less) {
            if (executor.pixel_weights_ == nullptr) {
                FunctorOperations<ArrayOperations>::compare(less);
                return;
            }
            const ArrayViews at{executor};
            const DataRatio ratio{at.data(), executor.model_, settings().model, less};
            add(pixel_sums, executor.pixels_,
                WeightedRatio{RatioWithHeldOut{ratio, at.held_out(), settings().held_out_share},
                              executor.pixel_weights_, executor.model_});
        }
        void blur(ArrayRole object, ArrayRole image) {
            if (!result.refused)
                executor.arrays_.blur(executor.array(object), executor.array(image));
        }
        void blur_back(ArrayRole image, ArrayRole object) {
            if (accepts())
                executor.arrays_.blur_back(executor.array(image), executor.array(object));
        }
        void back_project_unmatched(ArrayRole image, ArrayRole object) {
            if (accepts())
                executor.arrays_.back_project_unmatched(executor.array(image),
                                                        executor.array(object));
        }
        template <ArrayRole divisors = ArrayRole::weights, class Rule>
        void update(const Rule& rule) {
            using Base = FunctorOperations<ArrayOperations>;
            if (executor.problem_.parts > 1)
                Base::template update<divisors>(PartRule<Rule>{rule});
            else
                Base::template update<divisors>(rule);
        }
        template <class Make>
        void each_voxel(ArrayRoles, const Make& make) {
            if (!result.refused)
                executor.arrays_.for_each(executor.voxels_, make(ArrayViews{executor}));
        }
        template <class Make>
        void sum_pixels(SumIndex which, ArrayRoles, const Make& make) {
            add(which, executor.pixels_, make(ArrayViews{executor}));
        }
        template <class Make>
        void sum_voxels(SumIndex which, ArrayRoles, const Make& make) {
            add(which, executor.voxels_, make(ArrayViews{executor}));
        }
        template <class Make>
        void sum_voxels_of_grid(SumIndex which, ArrayRoles, const Make& make) {
            add(which, VoxelGrid{executor.step_settings_.variation}, make(ArrayViews{executor}));
        }
        template <class Make>
        void step(ArrayRoles, const Make& make) {
            take(executor.voxels_, make(ArrayViews{executor}));
        }
        template <class Make>
        void step_of_grid(ArrayRoles, const Make& make) {
            take(VoxelGrid{executor.step_settings_.variation}, make(ArrayViews{executor}));
        }

      private:
        /// Whether the step goes on. It is refused here, before the first back projection, if the
        /// objective is too large.
        bool accepts() {
            if (!result.refused && result.objective() > at_start.objective_limit)
                result.refused = true;
            if (!result.refused && !std::exchange(is_accepted, true)) progress.report_fraction(0.5);
            return !result.refused;
        }
        template <class Extent, class Functor>
        void add(SumIndex which, const Extent& extent, const Functor& functor) {
            if (!result.refused)
                result.sums[which] += pair_of(executor.arrays_.sum(extent, functor));
        }
        template <class Extent, class Functor>
        void take(const Extent& extent, const Functor& functor) {
            if (result.refused) return;
            if (executor.change_ != nullptr)
                add(step_sums, extent,
                    StepWithProducts<Functor>{functor, FloatChanges{executor.change_}});
            else
                executor.arrays_.for_each(extent, functor);
            executor.advance();
        }
    };

    float* array(ArrayRole role) const {
        float* const found = arrays_of_roles_[static_cast<std::size_t>(role)];
        if (found == nullptr) throw InternalError("an array that whole arrays do without");
        return found;
    }

    /// Makes the starting point: the newest estimate, or a point extrapolated beyond it, which
    /// replaces the previous estimate.
    void load_point(const StepStart& start) {
        point_ = problem_.traits.solves_system ? direction_ : estimate_;
        if (previous_ == nullptr) return;
        if (start.restart) {
            arrays_.for_each(voxels_, ArrayCopy{estimate_, previous_});
            if (change_ != nullptr) arrays_.for_each(voxels_, ConstantFill{change_, 0});
        }
        arrays_.for_each(voxels_, ExtrapolatedPoints{estimate_, previous_, start.extrapolation});
        point_ = previous_;
    }

    /// Makes the step's result the newest estimate. Its starting point is no longer needed.
    void advance() {
        if (previous_ != nullptr) std::swap(previous_, correction_);
        std::swap(previous_ != nullptr ? previous_ : correction_, estimate_);
    }

    Arrays& arrays_;
    const DeconvolutionProblem& problem_;
    StepSettings step_settings_;
    index_t voxels_ = element_count(problem_.object);
    index_t pixels_ = problem_.pixels();
    std::array<float*, array_roles> arrays_of_roles_{};
    float*& of(ArrayRole role) { return arrays_of_roles_[static_cast<std::size_t>(role)]; }
    // The arrays; null: there is none.
    float *&estimate_ = of(ArrayRole::solution), *&point_ = of(ArrayRole::point);
    float *&correction_ = of(ArrayRole::correction), *&weights_ = of(ArrayRole::weights);
    float *&residual_ = of(ArrayRole::residual), *&direction_ = of(ArrayRole::direction);
    float*& product_ = of(ArrayRole::product);
    float *&data_ = of(ArrayRole::data), *&model_ = of(ArrayRole::model);
    float*& pixel_weights_ = of(ArrayRole::pixel_weights);
    float* previous_ = nullptr;  ///< the previous estimate, then the starting point of the step
    float* change_ = nullptr;    ///< the change that the last step added to its point
    std::vector<float*> weights_of_parts_;  ///< empty if there is one part
    bool is_complete_ = true;
};

}  // namespace convolume::deconvolve
