#include "tools/train_lm.h"

#include <iostream>
#include <memory>

#include "autograd/tape/scope.h"
#include "tools/train_task.h"
#include "train/language_model.h"

namespace tape::tools {
namespace {

struct Arguments : TrainArguments {
  train::LanguageModelOptions options;
  std::string level = "char";
};

int train_lm(Arguments& arguments) {
  begin_run(arguments);
  train::LanguageModelOptions& options = arguments.options;
  options.run = arguments.run;
  options.level = arguments.level == "bpe" ? train::TokenLevel::bpe : train::TokenLevel::characters;
  if (arguments.doctor) return show(train::examine_language_model(options, std::cout));
  const auto result = train::train_language_model(options, std::cout, terminal_info(1));
  nlohmann::ordered_json figures;
  if (result.run.evaluation) {
    std::cout << fmt::format("validation: loss {:.4f} a token\n", result.valid_loss);
    figures = {{"valid_loss", result.valid_loss}};
  }
  return end_run(arguments, result.run, std::move(figures));
}

}  // namespace

void add_train_lm(Command train) {
  const auto arguments = std::make_shared<Arguments>();
  train::LanguageModelOptions& o = arguments->options;
  Command command = train.subcommand("lm", "Learn to continue a text");
  command.footer("Example: tapeformer train lm --text book.txt --out runs/book");
  command.option("--text", o.text, "File to learn from").required();
  command.option("--valid", o.valid, "File to validate with, in place of the end of --text");
  command.option("--valid-fraction", o.valid_fraction, "How much of the end");
  command.option("--level", arguments->level, "What a token is: a character, or a piece of a byte-level BPE")
      .one_of({"char", "bpe"});
  command.option("--vocab-size", o.vocab_size, "Tokens of the BPE");
  command.option("--context", o.context, "Tokens that the model sees at once");
  command.option("--batch", o.batch, "Windows of so many tokens a batch");
  command.option("--layers", o.layers, "Layers of the model");
  command.option("--width", o.width, "Width of the model");
  command.option("--heads", o.heads, "Heads of its attention");
  add_run_options(command, *arguments,
                  "nano (4 layers of width 128, context 64: minutes; the default), shakespeare (6 of 192, 256)");
  command.runs([arguments] { return train_lm(*arguments); });
}

}  // namespace tape::tools
