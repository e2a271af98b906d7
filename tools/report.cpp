#include "tools/commands.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "inspect/run_report/run_report.h"
#include "train/runs/output_folder.h"

namespace tape::tools {
namespace {

struct ReportArguments {
  std::string folder, out;
  std::vector<std::string> others;
};

int report(const ReportArguments& arguments) {
  const std::string path =
      arguments.out.empty() ? (std::filesystem::path(arguments.folder) / "report.html").string() : arguments.out;
  train::check_is_not_of_a_run(path, arguments.folder);
  for (const std::string& other : arguments.others) train::check_is_not_of_a_run(path, other);
  std::cout << inspect::write_run_report(arguments.folder, path, arguments.others) << "\n";
  return 0;
}

}  // namespace

void add_report(Command app) {
  const auto options = std::make_shared<ReportArguments>();
  Command command = app.subcommand("report", "Write curves, samples and facts of a training run as one HTML file");
  command.footer("Example: tapeformer report --model runs/german");
  command.option("--model", options->folder, "Folder of the run, with its log.jsonl").required();
  command.option("--with", options->others, "Folder of another run to draw curves of; can be repeated");
  command.option("--out", options->out, "File to write; default: report.html in the folder of --model");
  command.runs([options] { return report(*options); });
}

}  // namespace tape::tools
