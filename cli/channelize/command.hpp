// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume channelize` as the steps of a run: signals stream from file to file through a
// Channelizer.

#include <optional>
#include <string>
#include <vector>

#include "cli/signals/signal_steps.hpp"
#include "convolume/channelizer.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

/// The request of the command line.
struct ChannelizeRequest : SignalRequest {
    std::string prototype;  ///< file of the taps; empty: those of a windowed sinc
    bool tail = false;      ///< also frames after the end of the signal
    ChannelizerOptions options;
    EngineChoice engines;

    RunFiles files() const {
        RunFiles files = SignalRequest::files();
        if (!prototype.empty()) files.inputs.push_back(prototype);
        return files;
    }
};

class ChannelizeSteps : public SignalSteps {
  public:
    explicit ChannelizeSteps(const ChannelizeRequest& request)
        : SignalSteps(request), request_(request) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext& context) override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void tell_plan(const Facts& facts) const override;

  private:
    /// Throws InvalidArgument if a pipe would carry several signals, or a file channels of unknown
    /// length.
    void check_pipes() const;
    /// Returns the extents of the result: the signal's axes but the last, channels, and frames.
    std::vector<index_t> result_dims() const override;
    PixelType result_type() const override { return channelizer_->plan().frame_type; }
    std::string result_text() const override;
    /// Reads a signal in blocks and writes its frames. Returns the number of frames.
    index_t divide(index_t signal, const ExecutionContext& context);
    /// Writes frames begin … begin+count-1 of a signal: in a file channel by channel, to standard
    /// output frame by frame.
    void write(index_t signal, index_t begin, index_t count, const Volume& frames);

    const ChannelizeRequest& request_;
    ChannelizerOptions options_;  ///< the request's, with the prototype of its file
    std::optional<Channelizer> channelizer_;
    std::vector<char> row_;  ///< samples of one channel
    index_t frames_ = 0;     ///< frames written of each signal
};

}  // namespace convolume::cli
