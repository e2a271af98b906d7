#pragma once

#include <string>
#include <vector>

namespace tape::inspect {

/// Writes `folder`/report.html from `folder`/log.jsonl, and gives the path of what it wrote. See the other overload.
std::string write_run_report(const std::string& folder);

/// Writes what a person looks at during and after a training run: one self-contained HTML file with the curves of
/// loss, learning rate, gradient norm, throughput and validation, sample outputs, the confusion matrix, and the run's
/// facts and events. It opens from disk and loads nothing.
///
/// May be called while the run goes on: a last line that is cut is left out, and the file is replaced in one step
/// (write_file). Curves of long runs are thinned to about 3,000 points that keep every peak and valley. Steps that were
/// done again after a resume are shown once, as they were done the last time.
///
/// others: folders of further runs, whose curves are drawn beside this run's.
///
/// Errors: io for a log that cannot be read or a file that cannot be written; format `folder/log.jsonl: line 12: ...`
/// for a line that is no event of a run.
std::string write_run_report(const std::string& folder, const std::string& path,
                             const std::vector<std::string>& others = {});

}  // namespace tape::inspect
