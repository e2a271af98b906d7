#include "tools/commands.h"

#include <memory>

#include <fmt/format.h>

#include "tools/train/train_encoder.h"
#include "train/tasks/classification.h"

namespace tape::tools {

void add_train_classifier(Command train) {
  const auto arguments = std::make_shared<EncoderArguments<train::ClassificationOptions>>();
  train::ClassificationOptions& o = arguments->options;
  Command command = train.subcommand("classifier", "Train a classifier of texts");
  command.footer(classifier_presets("line") +
                 " transformers has no class for --pooling mean; it can load models with \"first\".\n"
                 "Example: tapeformer train classifier --data train.tsv --valid dev.tsv --init MiniLM --out "
                 "runs/sentiment");
  add_data_options(
      command, o,
      {"Labeled training data", "Labeled validation data", "Share of each label's lines used for validation"});
  command
      .option("--format", arguments->format,
              "tsv: sentence TAB label; label-first: label SPACE sentence; jsonl; csv; table: a TSV with a header")
      .one_of({"tsv", "label-first", "jsonl", "csv", "table"})
      .default_text("by the extension of --data: .jsonl, .csv, else tsv");
  command.option("--text-column", o.fields.text, "Records: field of the text");
  command.option("--label-column", o.fields.label, "Records: field of the label");
  add_init_options(command, o, arguments->adapters);
  add_pooling_option(command, arguments->pooling, "default: mean from scratch, else as in --init");
  add_batch_options(command, o, "Lines", "line");
  add_run_options(command, *arguments, {"small", "fine-tune", "adapters"});
  command.runs([arguments] {
    begin_run(*arguments);
    train::ClassificationOptions& options = arguments->options;
    options.records = record_format_of_data(arguments->format, options.data);
    if (arguments->format == "label-first") options.format = text::LabelFormat::label_space_sentence;
    check_data_options(*arguments, {"--text-column", "--label-column"});
    return run_task(*arguments, train::examine_classification, train::train_classification,
                    [](const train::ClassificationResult& result) {
                      return Validation{fmt::format("loss {:.4f}, accuracy {:.4g}, macro-F1 {:.4g}", result.valid_loss,
                                                    result.valid_accuracy, result.valid_macro_f1),
                                        {{"valid_loss", result.valid_loss},
                                         {"valid_accuracy", result.valid_accuracy},
                                         {"valid_macro_f1", result.valid_macro_f1}}};
                    },
                    {"echo {2} | {0} classify --model {1}", "{0} inspect --model {1} --text {2} --out {1}/inspect.html",
                     "{0} report --model {1}"});
  });
}

}  // namespace tape::tools
