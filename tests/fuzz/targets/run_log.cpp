#include "inspect/run_report/run_log.h"

#include "base/file.h"
#include "base/utf8.h"
#include "inspect/run_report/run_report.h"
#include "tests/fuzz/target.h"
#include "train/runs/log.h"

namespace tape::fuzz {

/// log.jsonl: its steps ascend, it is still a log after truncation at any step, and nothing in it can end a script of
/// the report page.
void fuzz_run_log(Bytes bytes) {
  const std::string folder = empty_folder(), path = put_file(folder + "/log.jsonl", text_of(bytes));
  const auto log = accepted([&] { return inspect::parse_run_log(std::string(text_of(bytes)), "log.jsonl"); });
  const auto page = accepted([&] { return inspect::write_run_report(folder); });
  expect(page.has_value() || !log, "a readable log has no report");
  accepted([&] { train::truncate_log(path, 3); });
  if (!log) return;
  for (size_t i = 1; i < log->steps.size(); ++i)
    expect(log->steps[i - 1].step < log->steps[i].step, "step {} after step {}", log->steps[i].step,
           log->steps[i - 1].step);
  expect(log->ends.size() <= 1, "{} ends", log->ends.size());
  const inspect::RunLog cut = inspect::parse_run_log(read_text(path), "the cut log");
  for (const inspect::LoggedStep& step : cut.steps)
    expect(step.step <= 3, "step {} in a log truncated at 3", step.step);
  const auto scripts = [](const std::string& html) {
    size_t count = 0;
    for (size_t at = 0; (at = html.find("</script", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  const std::string html = read_text(*page);
  static const size_t expected = scripts(html);
  expect(scripts(html) == expected, "{} script end tags in the page, expected {}", scripts(html), expected);
  expect(valid_utf8(html), "the page is not valid UTF-8");
}

}  // namespace tape::fuzz
