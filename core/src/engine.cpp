#include "convolume/engine.hpp"

namespace convolume {

const char* to_string(Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::fft:
            return "fft";
        case Algorithm::direct:
            return "direct";
        case Algorithm::separable:
            return "separable";
    }
    throw InternalError("an algorithm outside its enumeration");
}

BlockAxis block_axis(const AxisWindow& window) {
    return {window.grid, window.loaded(), window.kernel(), window.kept_begin(), window.kept()};
}

}  // namespace convolume
