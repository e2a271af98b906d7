#include "tools/train_classifier.h"

#include <iostream>
#include <memory>

#include "tools/train_encoder.h"
#include "train/classification.h"

namespace tape::tools {
namespace {

struct TrainClassifierArguments : TrainArguments {
  train::ClassificationOptions options;
  AdapterArguments adapters;
  std::optional<std::string> format;
  std::string pooling;
};

int train_classifier(TrainClassifierArguments& arguments) {
  begin_run(arguments);
  train::ClassificationOptions& options = arguments.options;
  options.run = arguments.run;
  options.adapters = adapters_of(arguments.adapters);
  options.records = records_of_data(arguments.format, options.data);
  if (arguments.format == "label-first") options.format = text::LabelFormat::label_space_sentence;
  options.pooling = pooling_named(arguments.pooling);
  if (arguments.doctor) return show(train::examine_classification(options, std::cout));
  const auto result = train::train_classification(options, std::cout, terminal_info(1));
  nlohmann::ordered_json figures;
  if (result.run.evaluation) {
    std::cout << fmt::format("validation: loss {:.4f}, accuracy {:.4g}, macro-F1 {:.4g}\n", result.valid_loss,
                             result.valid_accuracy, result.valid_macro_f1);
    figures = {{"valid_loss", result.valid_loss},
               {"valid_accuracy", result.valid_accuracy},
               {"valid_macro_f1", result.valid_macro_f1}};
  }
  print_end(arguments, result.run,
            {"echo {2} | {0} classify --model {1}", "{0} inspect --model {1} --text {2} --out {1}/inspect.html",
             "{0} report --model {1}"});
  return end_run(arguments, result.run, std::move(figures));
}

}  // namespace

void add_train_classifier(Command train) {
  const auto arguments = std::make_shared<TrainClassifierArguments>();
  train::ClassificationOptions& o = arguments->options;
  Command command = train.subcommand("classifier", "Learn to tell which label a line has");
  command.footer(classifier_presets("line") +
                 " transformers has no class for --pooling mean: it reads folders with \"first\".\n"
                 "Example: tapeformer train classifier --data train.tsv --valid dev.tsv --init MiniLM --out "
                 "runs/sentiment");
  command.option("--data", o.data, "Labelled lines to learn from").value_name("FILE").required();
  command.option("--valid", o.valid, "Labelled lines to validate with, in place of some of --data").value_name("FILE");
  command.option("--valid-fraction", o.valid_fraction, "How many of each label those are")
      .within(0, 1)
      .default_text("0.1");
  command
      .option(
          "--format", arguments->format,
          "tsv: sentence TAB label; label-first: label SPACE sentence; jsonl; csv; table: a TSV that names its columns")
      .one_of({"tsv", "label-first", "jsonl", "csv", "table"})
      .default_text("by the end of --data: .jsonl, .csv, else tsv");
  command.option("--text-column", o.fields.text, "Field of records that is classified");
  command.option("--label-column", o.fields.label, "Field that holds its label");
  add_init_options(command, o, arguments->adapters);
  add_pooling_option(command, arguments->pooling, "mean from scratch, else as --init has it");
  add_batch_options(command, o, "Lines", "line");
  add_run_options(command, *arguments, {"small", "fine-tune", "adapters"});
  command.runs([arguments] { return train_classifier(*arguments); });
}

}  // namespace tape::tools
