// SPDX-License-Identifier: Apache-2.0
#pragma once
// The table of peaks that `convolume correlate` writes, as CSV or JSON.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "convolume/correlation.hpp"

namespace convolume::cli {

enum class TableFormat { csv, json };
/// Returns the format of a file's name. Throws InvalidArgument, which lists the formats, for
/// others.
TableFormat table_format(std::string_view path);

class PeakTable {
  public:
    /// With `rate_hz`, peaks have a time in seconds; with `chirps`, frequency and drift.
    PeakTable(TableFormat format, std::optional<double> rate_hz, std::vector<Chirp> chirps)
        : format_(format), rate_hz_(rate_hz), chirps_(std::move(chirps)) {}

    std::string header() const;
    std::string rows(std::span<const CorrelationPeak> peaks);
    std::string footer() const { return format_ == TableFormat::json ? "\n]\n" : ""; }

    index_t peaks() const { return peaks_; }
    double strongest() const { return strongest_; }

  private:
    TableFormat format_;
    std::optional<double> rate_hz_;
    std::vector<Chirp> chirps_;  ///< of the templates; empty if they are no chirps
    index_t peaks_ = 0;
    double strongest_ = 0;
};

}  // namespace convolume::cli
