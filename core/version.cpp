// SPDX-License-Identifier: Apache-2.0
#include "convolume/version.hpp"

namespace convolume {

const char* version() {
    return CONVOLUME_VERSION;
}

}  // namespace convolume
