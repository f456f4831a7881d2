// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversion of samples of any type to the type of the computation; NaN and infinities are refused,
// replaced and counted, or left alone.

#include "convolume/filter_options.hpp"
#include "convolume/image_view.hpp"

namespace convolume {

/// Throws InvalidArgument if arrays lack memory. `what` names them, for example "signals".
void refuse_null(bool is_null, const char* what);
/// Throws InvalidArgument if arrays of type `type` do not hold results of type `results`.
void check_stored_type(PixelType results, PixelType type, const char* what);

/// Throws InvalidArgument for a treatment of NaN that signals do not have.
void check_nan_policy(NanPolicy policy);

/// Converts elements begin … begin+count-1 of row y (z = 0) of `view` to T. With
/// `nonfinite_to_zero`, elements that are not finite are read as 0; returns how many.
template <class T>
index_t convert_row(const ConstImageView& view, index_t y, index_t begin, index_t count,
                    bool nonfinite_to_zero, T* out);

/// Converts elements as the template convert_row() does, to a type `to` that is known at run time.
index_t convert_row(const ConstImageView& view, index_t y, index_t begin, index_t count,
                    bool nonfinite_to_zero, PixelType to, void* out);

/// Converts `count` words of 16 bits, which are `stride` apart, to float32. With
/// `nonfinite_to_zero`, those that are not finite are read as 0.
void convert_words(const std::uint16_t* from, index_t count, index_t stride, SampleStorage storage,
                   bool nonfinite_to_zero, float* to);

/// Searches words of 16 bits, as check_finite() does other samples. `elements` of them are a
/// sample.
index_t check_finite_words(const ConstImageView& words, SampleStorage storage, index_t elements,
                           NanPolicy policy, index_t signal, index_t first, int threads);
/// Sets words that are not finite to 0.
void clear_nonfinite(std::uint16_t* words, index_t count, SampleStorage storage);

/// Searches `samples`, of shape (1, signals, samples), for NaN and infinities if `policy` requires
/// it. Sample 0 of row 0 is sample `first` of signal `signal`. Returns how many samples are to be
/// read as 0; throws BadData under NanPolicy::error.
index_t check_finite(const ConstImageView& samples, NanPolicy policy, index_t signal, index_t first,
                     int threads);

}  // namespace convolume
