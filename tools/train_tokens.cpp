#include "tools/commands.h"

#include <memory>

#include "tools/train_encoder.h"
#include "train/tasks/token_classification.h"

namespace tape::tools {

void add_train_tokens(Command train) {
  const auto arguments = std::make_shared<EncoderArguments<train::TokenClassificationOptions>>();
  train::TokenClassificationOptions& o = arguments->options;
  Command command =
      train.subcommand("tokens", "Learn to tell which label each word has: names in texts, parts of speech");
  command.footer(
      classifier_presets("sentence") +
      "\nThe first token of a word learns its label. Labels B-x, I-x and O are entities, judged by the F1 of "
      "whole\nones; others by the share of right words.\n"
      "Example: tapeformer train tokens --data train.conll --valid dev.conll --init bert-base-cased --out "
      "runs/names");
  add_data_options(
      command, o,
      {"Sentences of labelled words to learn from", "The same to validate with", "How many sentences those are"});
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
  command.runs([arguments] {
    arguments->options.records = records_of_data(arguments->format, arguments->options.data);
    return run_task(*arguments, train::examine_token_classification, train::train_token_classification,
                    [](const train::TokenClassificationResult& result) {
                      Validation found{
                          fmt::format("loss {:.4f}, accuracy {:.4g}", result.valid_loss, result.valid_accuracy),
                          {{"valid_loss", result.valid_loss}, {"valid_accuracy", result.valid_accuracy}}};
                      if (result.valid_f1) {
                        found.sentence += fmt::format(", F1 of entities {:.4g}", *result.valid_f1);
                        found.figures["valid_f1"] = *result.valid_f1;
                      }
                      return found;
                    },
                    {"echo {2} | {0} classify --model {1}", "{0} inspect --model {1} --text {2} --out {1}/inspect.html",
                     "{0} report --model {1}"});
  });
}

}  // namespace tape::tools
