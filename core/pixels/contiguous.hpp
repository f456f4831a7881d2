// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vector code for samples that follow each other in memory: conversion, scan, streamed copy.

#include "core/pixels/rows.hpp"

namespace convolume::pixels {

/// out[i] = in[i] - subtract for `count` elements of the real type `type`; T is float or double.
/// Returns how many were read as 0 because they are not finite.
template <class T>
index_t load_contiguous(PixelType type, const void* in, index_t count, const LoadOptions& options,
                        T* out);

/// Stores in[i] + add as elements of the real type `type`; T is float or double.
template <class T>
ClampCount store_contiguous(const T* in, index_t count, T add, PixelType type, void* out);

bool all_finite(const float* values, index_t count);
bool all_finite(const double* values, index_t count);

/// Copies past the caches to `out`, for memory that will not be read soon. Call stream_fence()
/// before another thread reads it.
void stream_copy(const void* in, index_t bytes, void* out);
void stream_fence();

}  // namespace convolume::pixels
