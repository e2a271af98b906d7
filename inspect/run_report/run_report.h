#pragma once

#include <string>
#include <vector>

namespace tape::inspect {

/// Writes `folder`/report.html from `folder`/log.jsonl and returns its path. See the other overload.
std::string write_run_report(const std::string& folder);

/// Writes a report of a training run: one self-contained HTML file with the curves of loss, learning rate, gradient
/// norm, throughput and validation, sample outputs, the confusion matrix, and the run's settings and events. It opens
/// from disk and loads nothing. Returns `path`.
///
/// May be called while the run continues: an incomplete last line is ignored, and the file is replaced atomically
/// (write_file). Curves of long runs are thinned to about 3,000 points that preserve every peak and valley. Steps that
/// were repeated after a resume are shown once, with their last values.
///
/// others: folders of further runs, whose curves are drawn for comparison.
///
/// Throws Error (io) if a log cannot be read or the file cannot be written; (format) `folder/log.jsonl: line 12: ...`
/// if a line is not an event of a run.
std::string write_run_report(const std::string& folder, const std::string& path,
                             const std::vector<std::string>& others = {});

}  // namespace tape::inspect
