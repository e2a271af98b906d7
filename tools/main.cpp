// The tapeformer command: reads the arguments and calls the library.
#include <csignal>
#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "autograd/error.h"
#include "inspect/number_words.h"
#include "train/machine.h"
#include "train/number_words.h"
#include "train/terminal.h"

namespace {

using tape::ErrorKind;

volatile std::sig_atomic_t interrupted = 0;

/// The first Ctrl-C asks the run to stop and save; the second ends the process at once.
void on_interrupt(int signal) {
  interrupted = signal;
  std::signal(signal, SIG_DFL);
}

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

struct Common {
  int threads = 0;  // 0: as many as the machine has
  bool json = false;
};

void add_common(CLI::App& command, Common& common) {
  command.add_option("--threads", common.threads, "Threads for kernels and matrix products; all cores by default")
      ->check(CLI::PositiveNumber);
  command.add_flag("--json", common.json, "End with the figures as one JSON line");
}

void prepare(const Common& common) {
  if (common.threads > 0) tape::train::set_threads(common.threads);
}

int demo(const tape::train::NumberWordsOptions& options, const Common& common) {
  prepare(common);
  std::cout << to_string(tape::train::machine()) << "\n";
  if (const auto warning = tape::train::weak_blas_warning()) std::cerr << "warning: " << *warning << "\n";
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  const tape::train::TerminalInfo terminal = tape::train::terminal_info(1);
  const auto result = tape::train::train_number_words(options, std::cout, terminal);

  // Read back from the folder: what is shown is what was saved.
  auto model = tape::train::NumberWordsModel::load(options.out);
  const auto shown = tape::train::scored_numbers(12, options.seed);
  std::cout << "\nHeld-out numbers, never seen in training:\n";
  tape::inspect::show_translations(model, shown, std::cout);
  std::cout << "\n";
  tape::inspect::show_attention(model, shown.front(), std::cout, terminal);
  std::cout << "\nThe model lies in " << options.out << "\n";
  if (common.json) {
    const nlohmann::ordered_json line{{"held_out_exact", result.held_out_exact()},
                                      {"held_out", result.held_out},
                                      {"train_seconds", result.train_seconds},
                                      {"steps", result.steps},
                                      {"tok_s", result.tokens_per_second},
                                      {"loss", result.loss},
                                      {"model", options.out}};
    std::cout << line.dump() << "\n";
  }
  return interrupted ? 128 + interrupted : 0;
}

int info(const Common& common) {
  prepare(common);
  const tape::train::Machine m = tape::train::machine();
  const auto warning = tape::train::weak_blas_warning();
  if (common.json) {
    std::cout << nlohmann::ordered_json{{"version", m.version},     {"cpu", m.cpu},
                                        {"isa", m.kernels},         {"blas", m.blas},
                                        {"blas_core", m.blas_core}, {"blas_core_overridden", m.blas_core_overridden},
                                        {"threads", m.threads}}
                     .dump()
              << "\n";
  } else {
    std::cout << "version    " << m.version << "\ncpu        " << m.cpu << "\nkernels    " << m.kernels
              << "\nblas       " << m.blas << "\nblas core  " << m.blas_core
              << (m.blas_core_overridden ? " (by OPENBLAS_CORETYPE)" : "") << "\nthreads    " << m.threads << "\n";
  }
  if (warning) std::cerr << "warning: " << *warning << "\n";
  return 0;
}

int run(int argc, char** argv) {
  CLI::App app{"Trains Transformers on a CPU, with every gradient in sight."};
  app.set_version_flag("--version", tape::train::machine().version);
  app.require_subcommand(1);
  Common common;

  tape::train::NumberWordsOptions options;
  options.interrupted = [] { return interrupted != 0; };
  CLI::App& demo_command = *app.add_subcommand("demo", "Train the built-in German to English number-words task");
  demo_command.footer("Example: tapeformer demo --out runs/words");
  demo_command.add_option("--steps", options.steps, "Training steps")->capture_default_str();
  demo_command.add_option("--seconds", options.seconds, "Take fewer steps where they would take longer; 0: never")
      ->capture_default_str();
  demo_command.add_option("--batch", options.batch, "Pairs a step")->capture_default_str();
  demo_command.add_option("--lr", options.lr, "Learning rate at the end of the warm-up")->capture_default_str();
  demo_command.add_option("--seed", options.seed, "Of the weights, the numbers and the order")->capture_default_str();
  demo_command.add_option("--held-out", options.held_out, "Held-out numbers to translate")->capture_default_str();
  demo_command.add_option("--out", options.out, "Folder for the model")->capture_default_str();
  add_common(demo_command, common);

  CLI::App& info_command = *app.add_subcommand("info", "Version, CPU, kernels and matrix library in use, threads");
  info_command.footer("Example: tapeformer info --json");
  add_common(info_command, common);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return demo_command.parsed() ? demo(options, common) : info(common);
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
