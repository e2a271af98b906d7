#include "tools/train_embedding.h"

#include <iostream>
#include <memory>

#include "tools/train_encoder.h"
#include "train/embedding.h"

namespace tape::tools {
namespace {

struct TrainEmbeddingArguments : TrainArguments {
  train::TextEmbeddingOptions options;
  AdapterArguments adapters;
  std::optional<std::string> format;
  std::string pooling;
};

int train_embedding(TrainEmbeddingArguments& arguments) {
  begin_run(arguments);
  train::TextEmbeddingOptions& options = arguments.options;
  options.run = arguments.run;
  options.adapters = adapters_of(arguments.adapters);
  options.records = records_of_data(arguments.format, options.data);
  options.pooling = pooling_named(arguments.pooling);
  if (arguments.doctor) return show(train::examine_text_embedding(options, std::cout));
  const auto result = train::train_text_embedding(options, std::cout, terminal_info(1));
  nlohmann::ordered_json figures;
  if (result.run.evaluation) {
    std::cout << fmt::format("validation: loss {:.4f}, recall at 1 {:.4g}\n", result.valid_loss, result.valid_recall);
    figures = {{"valid_loss", result.valid_loss}, {"valid_recall_at_1", result.valid_recall}};
  }
  print_end(arguments, result.run,
            {"{0} inspect --model {1} --text {2} --out {1}/inspect.html", "{0} report --model {1}"});
  return end_run(arguments, result.run, std::move(figures));
}

}  // namespace

void add_train_embedding(Command train) {
  const auto arguments = std::make_shared<TrainEmbeddingArguments>();
  train::TextEmbeddingOptions& o = arguments->options;
  Command command = train.subcommand("embedding", "Learn vectors of texts from pairs that belong together");
  command.footer(encoder_presets("text", {.batch = 64, .epochs = 10, .lr = "1e-3", .dropout = "0.1", .longest = 128},
                                 {.batch = 64, .epochs = 1, .lr = "5e-5"}, "5e-4") +
                 " sentence-transformers opens the folder.\n"
                 "Example: tapeformer train embedding --data questions.jsonl --init MiniLM --out runs/questions");
  command.option("--data", o.data, "Pairs of texts to learn from").value_name("FILE").required();
  command.option("--valid", o.valid, "Pairs to validate with, in place of some of --data").value_name("FILE");
  command.option("--valid-fraction", o.valid_fraction, "How many those are").within(0, 1).default_text("0.1");
  command.option("--format", arguments->format, "pairs: text TAB text; jsonl; csv; table: a TSV that names its columns")
      .one_of({"pairs", "jsonl", "csv", "table"})
      .default_text("by the end of --data: .jsonl, .csv, else pairs");
  command.option("--anchor-column", o.fields.source, "Field of records that holds the text that looks");
  command.option("--positive-column", o.fields.target, "Field that holds the text that it is to find");
  command.option("--temperature", o.temperature, "Cosines are divided by it").above(0);
  command.flag("--symmetric", o.symmetric, "The second text must find the first, too");
  add_pooling_option(command, arguments->pooling, "that of the folder of --init, else mean");
  add_init_options(command, o, arguments->adapters);
  add_batch_options(command, o, "Pairs", "text");
  add_run_options(command, *arguments, {"small", "fine-tune", "adapters"});
  command.runs([arguments] { return train_embedding(*arguments); });
}

}  // namespace tape::tools
