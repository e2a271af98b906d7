#include "tools/train_mlm.h"

#include <cmath>
#include <iostream>
#include <memory>

#include "tools/train_encoder.h"
#include "train/masked_words.h"

namespace tape::tools {
namespace {

struct TrainMlmArguments : TrainArguments {
  train::MaskedWordsOptions options;
  AdapterArguments adapters;
  std::optional<std::string> format;
};

int train_mlm(TrainMlmArguments& arguments) {
  begin_run(arguments);
  train::MaskedWordsOptions& options = arguments.options;
  options.run = arguments.run;
  options.adapters = adapters_of(arguments.adapters);
  options.records = arguments.format ? records_named(*arguments.format) : text::record_format_of(options.data);
  if (arguments.doctor) return show(train::examine_masked_words(options, std::cout));
  const auto result = train::train_masked_words(options, std::cout, terminal_info(1));
  nlohmann::ordered_json figures;
  if (result.run.evaluation) {
    std::cout << fmt::format("validation: loss {:.4f}, perplexity {:.4g}, said right {:.4g}\n", result.valid_loss,
                             std::exp(result.valid_loss), result.valid_accuracy);
    figures = {{"valid_loss", result.valid_loss}, {"valid_accuracy", result.valid_accuracy}};
  }
  print_end(arguments, result.run,
            {"{0} train classifier --data labelled.tsv --init {1} --out runs/classifier",
             "{0} inspect --model {1} --text {2} --out {1}/inspect.html", "{0} report --model {1}"});
  return end_run(arguments, result.run, std::move(figures));
}

}  // namespace

void add_train_mlm(Command train) {
  const auto arguments = std::make_shared<TrainMlmArguments>();
  train::MaskedWordsOptions& o = arguments->options;
  Command command = train.subcommand("mlm", "Learn an encoder from text alone: to say words that are hidden");
  command.footer(encoder_presets("line", {.batch = 32, .epochs = 10, .lr = "1e-3", .dropout = "0.1", .longest = 128},
                                 {.batch = 32, .epochs = 3, .lr = "5e-5"}, "5e-4") +
                 " The folder is what train classifier and train embedding take as --init.\n"
                 "Example: tapeformer train mlm --data letters.txt --init bert-base-uncased --out runs/letters");
  command.option("--data", o.data, "Text to learn from: a line, or a record, is read by itself")
      .value_name("FILE")
      .required();
  command.option("--valid", o.valid, "Text to validate with, in place of some of --data").value_name("FILE");
  command.option("--valid-fraction", o.valid_fraction, "How many lines those are").within(0, 1).default_text("0.1");
  command.option("--format", arguments->format, "lines; jsonl; csv; table: a TSV that names its columns")
      .one_of({"lines", "jsonl", "csv", "table"})
      .default_text("by the end of --data: .jsonl, .csv, .tsv, else lines");
  command.option("--text-column", o.text_field, "Field of records that holds the text");
  command.option("--mask-share", o.mask_share, "How many of a line's tokens are to be said").within(0, 1);
  add_init_options(command, o, arguments->adapters);
  add_batch_options(command, o, "Lines", "line", "become several");
  add_run_options(command, *arguments, {"small", "fine-tune", "adapters"});
  command.runs([arguments] { return train_mlm(*arguments); });
}

}  // namespace tape::tools
