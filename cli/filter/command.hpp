// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume filter` as the steps of a run: signals stream from file to file through a FilterBank.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/filter/files.hpp"
#include "cli/filter/request.hpp"
#include "cli/run/run.hpp"

namespace convolume::cli {

class FilterSteps : public RunSteps {
  public:
    explicit FilterSteps(const FilterRequest& request) : request_(request) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext& context) override;
    void report_plan(const Console& console) const override;
    Work work() const override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void commit() override;
    void report_result(const Console& console, const RunTimes& times) const override;
    void fill_json(nlohmann::ordered_json& json, const RunTimes* times) const override;

  private:
    /// Throws InvalidArgument where a pipe would carry more than one signal or result.
    void check_rows() const;
    std::string output_text() const;
    std::string type_text() const;
    bool end_known() const { return signal_.length_known() || request_.options.range; }

    const FilterRequest& request_;
    std::unique_ptr<io::SignalReader> reader_;
    std::unique_ptr<io::SignalWriter> results_;
    std::unique_ptr<io::SignalWriter> positions_;  ///< null without --positions
    io::SignalInfo signal_;
    std::vector<FilterFile> filters_;
    std::optional<FilterBank> bank_;
    std::vector<index_t> result_dims_;
    ExecutionReport executed_;
};

}  // namespace convolume::cli
