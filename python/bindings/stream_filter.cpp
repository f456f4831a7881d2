// SPDX-License-Identifier: Apache-2.0
#include "convolume/stream_filter.hpp"

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/released.hpp"

namespace convolume::python {

namespace {

template <class Real>
using ReadBlock = nb::ndarray<const Real, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class Real>
using WriteBlock = nb::ndarray<Real, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Real>
void push(StreamFilter& filter, const ReadBlock<Real>& in, const WriteBlock<Real>& out) {
    if (static_cast<index_t>(in.shape(0)) != filter.inputs() ||
        static_cast<index_t>(out.shape(0)) != filter.outputs() || in.shape(1) != out.shape(1))
        throw InternalError("blocks of another shape than the filter's");
    std::vector<const Real*> from;
    std::vector<Real*> to;
    for (std::size_t row = 0; row < in.shape(0); ++row)
        from.push_back(in.data() + row * in.shape(1));
    for (std::size_t row = 0; row < out.shape(0); ++row)
        to.push_back(out.data() + row * out.shape(1));
    const auto samples = static_cast<index_t>(in.shape(1));
    const nb::gil_scoped_release released;
    filter.push(from.data(), to.data(), samples);
}

}  // namespace

void bind_stream_filter(nb::module_& module) {
    nb::class_<StreamFilter>(module, "StreamFilter")
        .def(
            "__init__",
            [](StreamFilter* self, const ReadArray& filters, index_t block, bool is_matrix,
               index_t channels, bool is_double, index_t max_taps, int threads) {
                const StreamFilterOptions options{
                    .block = block,
                    .is_matrix = is_matrix,
                    .channels = channels,
                    .precision = is_double ? Precision::float64 : Precision::float32,
                    .max_taps = max_taps,
                    .threads = threads};
                const ConstImageView taps = view(filters);
                plan_released([&] { new (self) StreamFilter(taps, options); });
            },
            "filters"_a, "block"_a, "is_matrix"_a, "channels"_a, "is_double"_a, "max_taps"_a,
            "threads"_a)
        .def_prop_ro("inputs", &StreamFilter::inputs)
        .def_prop_ro("outputs", &StreamFilter::outputs)
        .def_prop_ro("taps", &StreamFilter::taps)
        .def_prop_ro("partitions",
                     [](const StreamFilter& self) {
                         nb::list all;
                         for (const StreamPartition& level : self.partitions())
                             all.append(nb::make_tuple(level.count, level.taps));
                         return all;
                     })
        .def_prop_ro("nbytes", &StreamFilter::bytes)
        .def_prop_ro("text", &StreamFilter::to_string)
        .def_prop_ro("is_replacing", &StreamFilter::is_replacing)
        .def_prop_ro("max_replace_delay", &StreamFilter::max_replace_delay)
        .def("push", &push<float>, "inputs"_a, "outputs"_a)
        .def("push", &push<double>, "inputs"_a, "outputs"_a)
        .def(
            "replace",
            [](StreamFilter& self, const ReadArray& filters, index_t fade) {
                const ConstImageView taps = view(filters);
                const nb::gil_scoped_release released;
                self.replace(taps, fade);
            },
            "filters"_a, "fade"_a)
        .def("reset", &StreamFilter::reset);
}

}  // namespace convolume::python
