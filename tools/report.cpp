#include <iostream>
#include <memory>
#include <string>

#include "inspect/run_report.h"
#include "tools/commands.h"

namespace tape::tools {

void add_report(CLI::App& app, Chosen& chosen) {
  struct Options {
    std::string folder, out;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("report", "Curves, samples and facts of a training run as one HTML file");
  command.footer("Example: tapeformer report runs/german");
  command.add_option("DIR", options->folder, "Folder of the run, with its log.jsonl")->required();
  command.add_option("--out", options->out, "The file to write (DIR/report.html when not given)");
  command.callback([options, &chosen] {
    chosen = [options] {
      std::cout << (options->out.empty() ? inspect::write_run_report(options->folder)
                                         : inspect::write_run_report(options->folder, options->out))
                << "\n";
      return 0;
    };
  });
}

}  // namespace tape::tools
