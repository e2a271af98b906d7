// The tapeformer command: reads the arguments and calls the library.
#include <iostream>

#include "base/error.h"
#include "tools/commands.h"
#include "train/machine.h"

namespace {

using tape::ErrorKind;

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::io:
      return 4;
    case ErrorKind::numeric:
      return 5;
    case ErrorKind::out_of_memory:
      return 6;
    default:
      return 3;
  }
}

int run(int argc, char** argv) {
  CLI::App app{"Trains Transformers on a CPU, with every gradient in sight."};
  app.set_version_flag("--version", tape::train::machine().version);
  app.require_subcommand(1);
  tape::tools::Chosen chosen;
  tape::tools::add_demo(app, chosen);
  tape::tools::add_train(app, chosen);
  tape::tools::add_translate(app, chosen);
  tape::tools::add_generate(app, chosen);
  tape::tools::add_classify(app, chosen);
  tape::tools::add_tokenize(app, chosen);
  tape::tools::add_score(app, chosen);
  tape::tools::add_run(app, chosen);
  tape::tools::add_report(app, chosen);
  tape::tools::add_inspect(app, chosen);
  tape::tools::add_bench(app, chosen);
  tape::tools::add_info(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return chosen();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const tape::Error& error) {
    std::cerr << "tapeformer: " << error.what() << "\n";
    return exit_code(error.kind());
  } catch (const std::exception& error) {
    std::cerr << "tapeformer: internal error: " << error.what() << "\n";
    return 1;
  }
}
