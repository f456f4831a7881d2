#pragma once
// How much memory this process may still take.

#include "convolume/shape.hpp"

namespace convolume {

/// What the system has left, and the container or batch job that this process may be part of.
index_t available_host_bytes();

}  // namespace convolume
