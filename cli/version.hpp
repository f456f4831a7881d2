#pragma once

namespace convolume::cli {

inline constexpr const char* version = CONVOLUME_VERSION;

}  // namespace convolume::cli
