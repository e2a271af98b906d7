#include "inspect/run_log.h"

#include "base/file.h"
#include "base/utf8.h"
#include "inspect/run_report.h"
#include "tests/fuzz/target.h"
#include "train/runs/log.h"

namespace tape::fuzz {

/// log.jsonl: its steps ascend, it can be cut at any step and is still a log, and nothing in it ends a script of the
/// report's page.
void fuzz_run_log(Bytes bytes) {
  const std::string folder = empty_folder(), path = put_file(folder + "/log.jsonl", text_of(bytes));
  const auto log = unless_refused([&] { return inspect::parse_run_log(std::string(text_of(bytes)), "log.jsonl"); });
  const auto page = unless_refused([&] { return inspect::write_run_report(folder); });
  expect(page.has_value() || !log, "a log that can be read has no report");
  unless_refused([&] { train::cut_log(path, 3); });
  if (!log) return;
  for (size_t i = 1; i < log->steps.size(); ++i)
    expect(log->steps[i - 1].step < log->steps[i].step, "step {} behind step {}", log->steps[i].step,
           log->steps[i - 1].step);
  expect(log->ends.size() <= 1, "{} ends", log->ends.size());
  const inspect::RunLog cut = inspect::parse_run_log(read_text(path), "the cut log");
  for (const inspect::LoggedStep& step : cut.steps)
    expect(step.step <= 3, "step {} in a log that was cut at 3", step.step);
  const auto scripts = [](const std::string& html) {
    size_t count = 0;
    for (size_t at = 0; (at = html.find("</script", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  const std::string html = read_text(*page);
  static const size_t expected = scripts(html);
  expect(scripts(html) == expected, "{} ends of scripts in a page where {} are", scripts(html), expected);
  expect(valid_utf8(html), "the page is no UTF-8");
}

}  // namespace tape::fuzz
