// SPDX-License-Identifier: Apache-2.0
#include "volumes/part_store.hpp"

namespace convolume {

PartStore::PartStore(const decompose::SplitLayout& layout, Precision precision, void* data)
    : data_(data) {
    for (int p = 0; p < layout.parts; ++p) {
        const ImageView view = layout.part(data, p, precision);
        memory_.push_back(std::unique_ptr<PartInMemory>(
            new PartInMemory{view, ViewSource(view), ViewSink(view)}));
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

ConnectPart PartStore::connection(const PartBoxes& boxes) const {
    if (files_.empty())
        return [&view = memory_[static_cast<std::size_t>(boxes.part)]->view, boxes](
                   BlockInput& input, BlockOutput& output) {
            input.source = subview(view, boxes.image);
            output.target = subview(view, boxes.kept);
        };
    return [&file = *files_[static_cast<std::size_t>(boxes.part)], boxes](BlockInput& input,
                                                                          BlockOutput& output) {
        const PixelType type = file.format().type;
        input.source = contiguous_view(nullptr, type, boxes.image.shape());
        input.read = [&file](const Box3& box, const ImageView& target) {
            file.read_box(0, 0, box, target);
        };
        output.target = contiguous_view(nullptr, type, boxes.kept.shape());
        output.write = [&file](const Box3& box, const ConstImageView& values) {
            file.write_box(0, 0, box, values);
        };
    };
}

ExecutionReport LoadedParts::run(
    const PartStore& store, const PartBoxes& boxes,
    const std::function<ExecutionReport(const ConnectPart&)>& convolve) {
    const StackFormat format = store.source(boxes.part).format();
    const BufferPool::BorrowedBuffer part =
        parts_.take(bytes_of(format.shape, format.type), 1, "a part of the image");
    const ImageView view = contiguous_view(part.data(), format.type, format.shape);
    store.source(boxes.part).read_box(0, 0, boxes.image, subview(view, boxes.image));
    std::unique_lock engine(engine_);
    const ExecutionReport report = convolve([&](BlockInput& input, BlockOutput& output) {
        input.source = subview(view, boxes.image);
        output.target = subview(view, boxes.kept);
    });
    engine.unlock();
    store.sink(boxes.part).write_box(0, 0, boxes.kept, subview(view, boxes.kept));
    return report;
}

}  // namespace convolume
