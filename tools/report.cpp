#include "tools/report.h"

#include <iostream>
#include <memory>
#include <string>

#include "inspect/run_report.h"

namespace tape::tools {

void add_report(Command app) {
  struct Options {
    std::string folder, out;
  };
  const auto options = std::make_shared<Options>();
  Command command = app.subcommand("report", "Curves, samples and facts of a training run as one HTML file");
  command.footer("Example: tapeformer report --model runs/german");
  command.option("--model", options->folder, "Folder of the run, with its log.jsonl").required();
  command.option("--out", options->out, "The file to write; report.html in that folder where not given");
  command.runs([options] {
    std::cout << (options->out.empty() ? inspect::write_run_report(options->folder)
                                       : inspect::write_run_report(options->folder, options->out))
              << "\n";
    return 0;
  });
}

}  // namespace tape::tools
