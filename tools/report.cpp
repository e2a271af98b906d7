#include "tools/commands.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "inspect/run_report.h"

namespace tape::tools {

void add_report(Command app) {
  struct Options {
    std::string folder, out;
    std::vector<std::string> others;
  };
  const auto options = std::make_shared<Options>();
  Command command = app.subcommand("report", "Write curves, samples and facts of a training run as one HTML file");
  command.footer("Example: tapeformer report --model runs/german");
  command.option("--model", options->folder, "Folder of the run, with its log.jsonl").required();
  command.option("--with", options->others, "Folder of another run to draw curves of; can be repeated");
  command.option("--out", options->out, "File to write; default: report.html in the folder of --model");
  command.runs([options] {
    const std::string path =
        options->out.empty() ? (std::filesystem::path(options->folder) / "report.html").string() : options->out;
    std::cout << inspect::write_run_report(options->folder, path, options->others) << "\n";
    return 0;
  });
}

}  // namespace tape::tools
