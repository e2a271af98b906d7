#include "tools/commands.h"

#include <memory>

#include <fmt/format.h>

#include "tools/train/train_encoder.h"
#include "train/tasks/token_classification.h"

namespace tape::tools {

void add_train_tokens(Command train) {
  const auto arguments = std::make_shared<EncoderArguments<train::TokenClassificationOptions>>();
  train::TokenClassificationOptions& o = arguments->options;
  Command command = train.subcommand("tokens", "Train a model that labels each word: named entities, parts of speech");
  command.footer(classifier_presets("sentence") +
                 "\nThe first token of a word is trained on its label. Labels B-x, I-x and O are entities, evaluated "
                 "by entity-level\n"
                 "F1; other labels are evaluated by word accuracy.\n"
                 "Example: tapeformer train tokens --data train.conll --valid dev.conll --init bert-base-cased --out "
                 "runs/names");
  add_data_options(
      command, o,
      {"Training sentences of labeled words", "Validation sentences", "Share of the sentences used for validation"});
  command
      .option("--format", arguments->format,
              "conll: one word per line, its label last; jsonl; csv; table: a TSV with a header")
      .one_of({"conll", "jsonl", "csv", "table"})
      .default_text("by the extension of --data: .jsonl, .csv, else conll");
  command.option("--tokens-column", o.fields.tokens, "Records: field of the words");
  command.option("--labels-column", o.fields.labels, "Records: field of the labels")
      .default_text("labels, or ner_tags");
  add_init_options(command, o, arguments->adapters);
  add_batch_options(command, o, "Sentences", "sentence");
  add_run_options(command, *arguments, {"small", "fine-tune", "adapters"});
  command.runs([arguments] {
    begin_run(*arguments);
    arguments->options.records = record_format_of_data(arguments->format, arguments->options.data);
    check_data_options(*arguments, {"--tokens-column", "--labels-column"});
    return run_task(*arguments, train::examine_token_classification, train::train_token_classification,
                    [](const train::TokenClassificationResult& result) {
                      Validation found{
                          fmt::format("loss {:.4f}, accuracy {:.4g}", result.valid_loss, result.valid_accuracy),
                          {{"valid_loss", result.valid_loss}, {"valid_accuracy", result.valid_accuracy}}};
                      if (result.valid_f1) {
                        found.sentence += fmt::format(", entity F1 {:.4g}", *result.valid_f1);
                        found.figures["valid_f1"] = *result.valid_f1;
                      }
                      return found;
                    },
                    {"echo {2} | {0} classify --model {1}", "{0} inspect --model {1} --text {2} --out {1}/inspect.html",
                     "{0} report --model {1}"});
  });
}

}  // namespace tape::tools
