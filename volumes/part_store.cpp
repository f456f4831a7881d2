// SPDX-License-Identifier: Apache-2.0
#include "volumes/part_store.hpp"

#include "volumes/layout.hpp"

namespace convolume {

PartStore::PartStore(const decompose::SplitLayout& layout, Precision precision, void* data) {
    for (int p = 0; p < layout.parts; ++p) {
        const ImageView view = layout.part(data, p, precision);
        memory_.push_back(
            std::unique_ptr<InMemory>(new InMemory{view, ViewSource(view), ViewSink(view)}));
    }
}

PartStore::PartStore(const decompose::SplitLayout& layout, Precision precision,
                     const std::string& directory) {
    for (int p = 0; p < layout.parts; ++p) {
        const ImageView view = layout.part(nullptr, p, precision);
        files_.push_back(std::make_unique<ScratchVolume>(directory, view.shape, view.type));
    }
}

ImageSource& PartStore::source(int part) const {
    const auto p = static_cast<std::size_t>(part);
    if (files_.empty()) return memory_[p]->source;
    return *files_[p];
}

ImageSink& PartStore::sink(int part) const {
    const auto p = static_cast<std::size_t>(part);
    if (files_.empty()) return memory_[p]->sink;
    return *files_[p];
}

ConnectPart PartStore::connection(const PartRows& rows) const {
    if (files_.empty())
        return [&view = memory_[static_cast<std::size_t>(rows.part)]->view, rows](
                   BlockInput& input, BlockOutput& output) {
            input.source = subview(view, rows.image);
            output.target = subview(view, rows.kept);
        };
    return [&file = *files_[static_cast<std::size_t>(rows.part)], rows](BlockInput& input,
                                                                        BlockOutput& output) {
        const auto without_data = [&](const Box3& box) {
            const Shape3 shape = box.shape();
            return ImageView{nullptr, file.format().type, shape, contiguous_strides(shape)};
        };
        input.source = without_data(rows.image);
        input.read = [&file](const Box3& box, const ImageView& target) {
            file.read_box(0, 0, box, target);
        };
        output.target = without_data(rows.kept);
        output.write = [&file](const Box3& box, const ConstImageView& values) {
            file.write_box(0, 0, box, values);
        };
    };
}

ExecutionReport LoadedParts::run(
    const PartStore& store, const PartRows& rows,
    const std::function<ExecutionReport(const ConnectPart&)>& convolve) {
    const StackFormat format = store.source(rows.part).format();
    const BufferPool::Lease part =
        parts_.take(bytes_of(format.shape, format.type), 1, "a part of the image");
    const ImageView view{part.data(), format.type, format.shape, contiguous_strides(format.shape)};
    store.source(rows.part).read_box(0, 0, rows.image, subview(view, rows.image));
    std::unique_lock engine(engine_);
    const ExecutionReport report = convolve([&](BlockInput& input, BlockOutput& output) {
        input.source = subview(view, rows.image);
        output.target = subview(view, rows.kept);
    });
    engine.unlock();
    store.sink(rows.part).write_box(0, 0, rows.kept, subview(view, rows.kept));
    return report;
}

}  // namespace convolume
