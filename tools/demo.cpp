#include "tools/demo.h"

#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include "autograd/tape/scope.h"
#include "base/terminal.h"
#include "inspect/number_words.h"
#include "tools/interrupt.h"
#include "train/machine.h"
#include "train/number_words.h"

namespace tape::tools {
namespace {

struct Arguments {
  train::NumberWordsOptions options;
  Common common;
};

int demo(const Arguments& arguments) {
  const train::NumberWordsOptions& options = arguments.options;
  prepare(arguments.common);
  const MixedPrecision precision(arguments.common.bf16());
  std::cout << to_string(train::machine()) << "\n";
  if (const auto warning = train::weak_blas_warning()) std::cerr << "warning: " << *warning << "\n";
  note_interrupts();
  const TerminalInfo terminal = terminal_info(1);
  const auto result = train::train_number_words(options, std::cout, terminal);

  // Read back from the folder: what is shown is what was saved.
  auto model = train::NumberWordsModel::load(options.out);
  const auto shown = train::scored_numbers(12, options.seed);
  std::cout << "\nHeld-out numbers, never seen in training:\n";
  inspect::show_translations(model, shown, std::cout);
  std::cout << "\n";
  inspect::show_attention(model, shown.front(), std::cout, terminal);
  std::cout << "\nThe model lies in " << options.out << "\n";
  if (arguments.common.json) {
    const nlohmann::ordered_json line{{"held_out_exact", result.held_out_exact()},
                                      {"held_out", result.held_out},
                                      {"train_seconds", result.train_seconds},
                                      {"steps", result.steps},
                                      {"tok_s", result.tokens_per_second},
                                      {"loss", result.loss},
                                      {"model", options.out}};
    std::cout << line.dump() << "\n";
  }
  return interrupted() ? 128 + interrupted() : 0;
}

}  // namespace

void add_demo(Command app) {
  const auto arguments = std::make_shared<Arguments>();
  train::NumberWordsOptions& options = arguments->options;
  options.interrupted = [] { return interrupted() != 0; };
  Command command = app.subcommand("demo", "Train the built-in German to English number-words task");
  command.footer("Example: tapeformer demo --out runs/words");
  command.option("--steps", options.steps, "Training steps");
  command.option("--seconds", options.seconds, "Take fewer steps where they would take longer; 0: never");
  command.option("--batch", options.batch, "Pairs a step");
  command.option("--lr", options.lr, "Learning rate at the end of the warm-up");
  command.option("--seed", options.seed, "Of the weights, the numbers and the order");
  command.option("--held-out", options.held_out, "Held-out numbers to translate");
  command.option("--out", options.out, "Folder for the model");
  add_threads(command, arguments->common);
  add_dtype(command, arguments->common);
  add_json(command, arguments->common);
  command.runs([arguments] { return demo(*arguments); });
}

}  // namespace tape::tools
