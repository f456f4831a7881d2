// SPDX-License-Identifier: Apache-2.0
#pragma once
// The image and the result of a caller: views of host memory, a source and a sink of planes, or
// memory of a GPU. They are loaded to an executor and stored from it group by group of planes.

#include "convolume/image_stream.hpp"
#include "deconvolve/executors/executor.hpp"

namespace convolume::deconvolve {

class CoarseStart;
class HeldOutSearch;

/// What a deconvolution does besides its iterations on the image. Null: it does not.
struct ImageHelpers {
    CoarseStart* start = nullptr;
    HeldOutSearch* search = nullptr;
};

/// A coarse start, and the image in host memory whose pixels it sums.
struct CoarseStartSource {
    CoarseStart* start = nullptr;  ///< null: there is no coarse start
    ConstImageView image{};
};

/// The row of a timeline that the work on an image is recorded in.
struct TimelineRow {
    Timeline* timeline = nullptr;  ///< null: nothing is recorded
    int engine = -1;

    /// Returns a timer of work by the executor.
    PhaseTimer time_work() const { return PhaseTimer(timeline, Phase::convolve, engine); }
};

class CallerImages {
  public:
    virtual ~CallerImages() = default;

    virtual CoarseStartSource coarse() const { return {}; }
    virtual HeldOutSearch* search() const { return nullptr; }
    /// Returns the type of the pixels that read() reads, for a search.
    virtual PixelType type() const { return PixelType::float32; }
    virtual void read(const Box3& box, const ImageView& target);

    /// Writes the image to the executor. Sets negative pixels to 0 if the method counts photons,
    /// and marks saturated pixels. Also estimates, from the same pixels, the background and what
    /// the problem needs of the scale of photons. Throws BadData if the image is complex or has a
    /// value that is not finite.
    virtual LoadedImage load(Executor& executor, const DeconvolutionProblem& problem,
                             const TimelineRow& row) = 0;
    /// Stores the executor's estimate in the caller's result.
    virtual ExecutionReport store(const Executor& executor, const DeconvolutionProblem& problem,
                                  const TimelineRow& row) = 0;
};

/// An image and a result in host memory. A result without data is not stored.
class HostImages final : public CallerImages {
  public:
    HostImages(const ConstImageView& image, const ImageView& result,
               const ImageHelpers& helpers = {})
        : image_(image), result_(result), helpers_(helpers) {}
    CoarseStartSource coarse() const override { return {helpers_.start, image_}; }
    HeldOutSearch* search() const override { return helpers_.search; }
    PixelType type() const override { return image_.type; }
    void read(const Box3& box, const ImageView& target) override;
    LoadedImage load(Executor& executor, const DeconvolutionProblem& problem,
                     const TimelineRow& row) override;
    ExecutionReport store(const Executor& executor, const DeconvolutionProblem& problem,
                          const TimelineRow& row) override;

  private:
    ConstImageView image_;
    ImageView result_;
    ImageHelpers helpers_;
};

/// An image that is read while it is loaded, and a result that is written while it is stored. Only
/// some planes are in host memory, unless a coarse start needs the whole image.
class StreamedImages final : public CallerImages {
  public:
    /// Source and sink have one volume. The context gives the timeline, and may stop the run.
    /// `planes` are read and written at once; 0: as many as take some 64 MiB.
    StreamedImages(ImageSource& source, ImageSink& sink, const ExecutionContext& context,
                   const ImageHelpers& helpers = {}, index_t planes = 0)
        : source_(source), sink_(sink), context_(context), helpers_(helpers), planes_(planes) {}
    CoarseStartSource coarse() const override { return {helpers_.start, whole_.view()}; }
    HeldOutSearch* search() const override { return helpers_.search; }
    PixelType type() const override { return source_.format().type; }
    void read(const Box3& box, const ImageView& target) override;
    LoadedImage load(Executor& executor, const DeconvolutionProblem& problem,
                     const TimelineRow& row) override;
    ExecutionReport store(const Executor& executor, const DeconvolutionProblem& problem,
                          const TimelineRow& row) override;

    /// Returns the bytes of host memory for an image and a result of these types.
    static index_t host_bytes(const Shape3& shape, PixelType image, PixelType result,
                              bool has_coarse_start);

  private:
    ImageSource& source_;
    ImageSink& sink_;
    const ExecutionContext& context_;
    ImageHelpers helpers_;
    index_t planes_;
    Volume whole_;  ///< the image, if a coarse start needs it
};

/// Returns the bytes of host memory that the caller's images of a problem take. Types that are not
/// known count as float32.
index_t caller_bytes(const DeconvolutionProblem& problem);

/// Stores the executor's estimate in `target`, which has the extents of the image or of the object.
ExecutionReport store_estimate(const Executor& executor, const DeconvolutionProblem& problem,
                               const ImageView& target);

}  // namespace convolume::deconvolve
