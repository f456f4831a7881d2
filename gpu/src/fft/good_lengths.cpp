// Which length to pad to.

#include "convolume/shape.hpp"
#include "fft/column_kernel.hpp"
#include "fft/lengths.hpp"

namespace convolume::gpu {

namespace {

/// Time of a pass a sample, relative to that of the lengths that run at the rate of the memory.
double cost_per_sample(int n, bool columns) {
    if (!columns) return n > 1024 ? 1.1 : 1;
    return n <= 1152 ? 1 : n <= 2048 ? 1.6 : 2.5;
}

index_t cheapest(index_t least, index_t step, int samples_each, bool columns) {
    index_t best = 0;
    double best_cost = 0;
    for (const int n : lengths<float>) {
        const index_t length = static_cast<index_t>(n) * samples_each;
        if (length < least || length % step != 0) continue;
        const double cost = n * cost_per_sample(n, columns);
        if (best == 0 || cost < best_cost) {
            best = length;
            best_cost = cost;
        }
    }
    return best;
}

}  // namespace

index_t good_column_length(index_t least, index_t step) {
    return cheapest(least, step, 1, true);
}

index_t good_row_length(index_t least, bool complex_rows) {
    return cheapest(least, 1, complex_rows ? 1 : 2, false);
}

}  // namespace convolume::gpu
