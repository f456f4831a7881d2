// SPDX-License-Identifier: Apache-2.0
#include "cpu/fft/column_fft.hpp"

#include "convolume/error.hpp"
#include "cpu/fft/column_stages.hpp"
#include "cpu/fft/radices.hpp"
#include "cpu/fft/roots.hpp"

namespace convolume::cpu {

template <class Real>
ColumnFft<Real>::ColumnFft(index_t length) : length_(length) {
    if (length > 0) radices_ = radices_of(length);
    if (radices_.empty())
        throw InvalidArgument(
            message("no transform of columns of ", length,
                    " samples: lengths are positive and have no prime factor above 13"));
    index_t rest = length;
    for (const int radix : radices_) {
        const index_t m = rest / radix;
        for (index_t p = 0; p < m; ++p) {
            for (int k = 1; k < radix; ++k) {
                const std::complex<double> root = root_of_unity(p * k, rest);
                twiddles_.push_back(static_cast<Real>(root.real()));
                twiddles_.push_back(static_cast<Real>(-root.imag()));
            }
        }
        rest = m;
    }
}

template <class Real>
bool ColumnFft<Real>::takes(index_t length) {
    return length > 0 && !radices_of(length).empty();
}

template <class Real>
index_t ColumnFft<Real>::line_lanes(index_t width) {
    return lanes_of_columns<Real>(width);
}

template <class Real>
void ColumnFft<Real>::forward(const InputColumns& source, const OutputColumns& target,
                              index_t columns, Complex* scratch) const {
    transform(false, source, target, columns, scratch);
}

template <class Real>
void ColumnFft<Real>::inverse(const InputColumns& source, const OutputColumns& target,
                              index_t columns, Complex* scratch) const {
    transform(true, source, target, columns, scratch);
}

template <class Real>
void ColumnFft<Real>::transform(bool inverse, const InputColumns& source,
                                const OutputColumns& target, index_t columns,
                                Complex* scratch) const {
    ColumnTransform<Real> transform;
    transform.source = reinterpret_cast<const Real*>(source.data);
    transform.source_stride = 2 * source.stride;
    transform.source_first = source.first;
    transform.source_count = source.count;
    transform.target = reinterpret_cast<Real*>(target.data);
    transform.target_stride = 2 * target.stride;
    transform.target_first = target.first;
    transform.target_count = target.count;
    transform.columns = columns;
    transform.inverse = inverse;
    run(transform, reinterpret_cast<Real*>(scratch));
}

template <class Real>
void ColumnFft<Real>::run(const ColumnTransform<Real>& transform, Real* scratch) const {
    if (transform.columns != most_columns && transform.columns != column_multiple)
        throw InternalError(message("a transform of ", transform.columns, " columns"));
    run_stages(ColumnStages<Real>{length_, radices_.data(), twiddles_.data(), transform, scratch});
}

template class ColumnFft<float>;
template class ColumnFft<double>;

}  // namespace convolume::cpu
