// SPDX-License-Identifier: Apache-2.0
#pragma once
// Filters for live signals: blocks of samples go in, and filtered blocks of the same time come out.
// filter_bank.hpp filters signals whose samples are all there, which is faster.

#include <string>
#include <vector>

#include "convolume/engines.hpp"
#include "convolume/export.hpp"
#include "convolume/image_view.hpp"
#include "convolume/options.hpp"

namespace convolume {

/// Options of StreamFilter.
struct StreamFilterOptions {
    /// Samples of a block: 32 to 4096, without a prime factor above 13. It is the latency: no other
    /// delay is added.
    index_t block = 256;
    /// False: filter c filters channel c. True: filters are a matrix, and output o is the sum of
    /// all inputs i, each filtered by filter (o, i).
    bool is_matrix = false;
    index_t channels = 0;  ///< number of channels that share a single filter; 0: one
    Precision precision = Precision::float32;
    index_t max_taps = 0;  ///< most taps of filters that replace() will get; 0: those of now
    /// Number of threads that share a block. More than one pay for many channels only. 0: all
    /// processors.
    int threads = 1;
};

/// Consecutive partitions of the filters that have equal sizes.
struct StreamPartition {
    index_t taps;   ///< of one partition
    index_t count;  ///< number of partitions
};

/// Filters channels block by block, with a latency of one block for filters of up to 2^20 taps.
///
/// Filters are divided into partitions of growing size (W. G. Gardner, "Efficient convolution
/// without input-output delay", J. Audio Eng. Soc. 43:127, 1995), whose sizes have the least
/// predicted time (G. García, "Optimal filter partition for efficient convolution with short
/// input/output delay", 113th AES Convention, 2002). The work for long partitions is cut into steps
/// of some microseconds, and each push() does an equal portion of them. The results do not depend
/// on the number of threads.
///
/// push() allocates no memory, takes no lock and makes no system call, but with several threads
/// wakes those that sleep. The threads have the priority of the thread that made the filter.
///
/// A sample that is not finite makes those results NaN whose sums it enters, and no others.
/// @code{.cpp}
/// Volume echo({1, 1, 1000}, PixelType::float32);  // one filter of 1000 taps
/// std::fill_n(echo.elements<float>(), 1000, 0.0F);
/// echo.elements<float>()[0] = 1;
/// echo.elements<float>()[999] = 0.5F;
/// StreamFilterOptions options;
/// options.block = 64;
/// StreamFilter filter(echo.view(), options);
/// std::vector<float> samples(64, 1.0F), filtered(64);
/// const float* in = samples.data();
/// float* out = filtered.data();
/// for (int block = 0; block < 20; ++block) filter.push(&in, &out, 64);
/// assert(std::abs(filtered[0] - 1.5F) < 1e-5F);
/// @endcode
class CONVOLUME_API StreamFilter {
  public:
    /// Plans, and transforms the filters. `filters`, of a real type, has the shape (1, channels,
    /// taps), or (outputs, inputs, taps) for a matrix. Throws InvalidArgument (options, shapes,
    /// complex filters), BadData (a tap that is not finite), or OutOfMemory.
    explicit StreamFilter(const ConstImageView& filters, const StreamFilterOptions& options = {});

    const StreamFilterOptions& options() const;
    index_t block() const { return options().block; }
    index_t inputs() const;
    index_t outputs() const;
    index_t taps() const;  ///< returns the largest number of taps of any filter, now or later
    std::vector<StreamPartition> partitions() const;
    index_t bytes() const;          ///< returns the bytes of memory of spectra and samples
    std::string to_string() const;  ///< returns a few lines for people

    /// Filters the next block. `inputs` has inputs() pointers to `samples` samples, `outputs` has
    /// outputs() pointers. A null input is silent. Output c may be the array of input c. Result n
    /// of a block is the sum of h[k] x[n-k] over the taps k. Throws InvalidArgument if `samples` is
    /// not block(), or if the pointers are not of the filter's precision.
    void push(const float* const* inputs, float* const* outputs, index_t samples);
    void push(const double* const* inputs, double* const* outputs, index_t samples);

    /// Replaces the filters by others of the same number, with up to taps() taps. The results fade
    /// linearly from those of the old filters to those of the new ones, over `fade` samples (0: one
    /// block). These results are the ones that each filter would give if it had always been there.
    /// Returns when the new filters are transformed. The fade begins at most max_replace_delay()
    /// samples later, and until it ends push() takes up to twice as long. Another thread may push
    /// meanwhile. Filters of an earlier call whose fade has not begun may be passed over. Throws as
    /// the constructor does.
    void replace(const ConstImageView& filters, index_t fade = 0);
    /// Returns whether filters of replace() are not yet in full use.
    bool is_replacing() const;
    /// Returns the largest number of samples from replace() to the beginning of its fade, if no
    /// other fade is in progress.
    index_t max_replace_delay() const;

    /// Forgets all samples, so that the next block is the first one. Filters of replace() come into
    /// use at once. No other thread may push meanwhile.
    void reset();

  private:
    struct Impl;
    Hidden<Impl> impl_;
};

}  // namespace convolume
