#include "tools/train_tokens.h"

#include <iostream>
#include <memory>

#include "tools/train_encoder.h"
#include "train/token_labels.h"

namespace tape::tools {
namespace {

struct TrainTokensArguments : TrainArguments {
  train::TokenLabelOptions options;
  AdapterArguments adapters;
  std::optional<std::string> format;
};

int train_tokens(TrainTokensArguments& arguments) {
  begin_run(arguments);
  train::TokenLabelOptions& options = arguments.options;
  options.run = arguments.run;
  options.adapters = adapters_of(arguments.adapters);
  options.records = records_of_data(arguments.format, options.data);
  if (arguments.doctor) return show(train::examine_token_labels(options, std::cout));
  const auto result = train::train_token_labels(options, std::cout, terminal_info(1));
  nlohmann::ordered_json figures;
  if (result.run.evaluation) {
    std::cout << fmt::format("validation: loss {:.4f}, accuracy {:.4g}", result.valid_loss, result.valid_accuracy);
    if (result.valid_f1) std::cout << fmt::format(", F1 of entities {:.4g}", *result.valid_f1);
    std::cout << "\n";
    figures = {{"valid_loss", result.valid_loss}, {"valid_accuracy", result.valid_accuracy}};
    if (result.valid_f1) figures["valid_f1"] = *result.valid_f1;
  }
  print_end(arguments, result.run,
            {"echo {2} | {0} classify --model {1}", "{0} inspect --model {1} --text {2} --out {1}/inspect.html",
             "{0} report --model {1}"});
  return end_run(arguments, result.run, std::move(figures));
}

}  // namespace

void add_train_tokens(Command train) {
  const auto arguments = std::make_shared<TrainTokensArguments>();
  train::TokenLabelOptions& o = arguments->options;
  Command command =
      train.subcommand("tokens", "Learn to tell which label each word has: names in texts, parts of speech");
  command.footer(
      classifier_presets("sentence") +
      "\nThe first token of a word learns its label. Labels B-x, I-x and O are entities, judged by the F1 of "
      "whole\nones; others by the share of right words.\n"
      "Example: tapeformer train tokens --data train.conll --valid dev.conll --init bert-base-cased --out "
      "runs/names");
  command.option("--data", o.data, "Sentences of labelled words to learn from").value_name("FILE").required();
  command.option("--valid", o.valid, "The same to validate with, in place of some of --data").value_name("FILE");
  command.option("--valid-fraction", o.valid_fraction, "How many sentences those are").within(0, 1).default_text("0.1");
  command
      .option("--format", arguments->format,
              "conll: a line a word, its label last; jsonl; csv; table: a TSV that names its columns")
      .one_of({"conll", "jsonl", "csv", "table"})
      .default_text("by the end of --data: .jsonl, .csv, else conll");
  command.option("--tokens-column", o.fields.tokens, "Field of records with the words of a sentence");
  command.option("--labels-column", o.fields.labels, "Field with their labels").default_text("labels, or ner_tags");
  add_init_options(command, o, arguments->adapters);
  add_batch_options(command, o, "Sentences", "sentence");
  add_run_options(command, *arguments, {"small", "fine-tune", "adapters"});
  command.runs([arguments] { return train_tokens(*arguments); });
}

}  // namespace tape::tools
