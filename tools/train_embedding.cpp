#include "tools/train_embedding.h"

#include <iostream>
#include <memory>

#include "autograd/tape/scope.h"
#include "tools/train_task.h"
#include "train/embedding.h"

namespace tape::tools {
namespace {

struct TrainEmbeddingArguments : TrainArguments {
  train::TextEmbeddingOptions options;
  std::string format;
  std::string pooling;
};

int train_embedding(TrainEmbeddingArguments& arguments) {
  begin_run(arguments);
  train::TextEmbeddingOptions& options = arguments.options;
  options.run = arguments.run;
  options.records = text::record_format_of(options.data);
  // A .tsv has lines of two texts unless it is said to name its columns.
  if (arguments.format == "pairs" || (arguments.format.empty() && options.records == text::RecordFormat::tsv))
    options.records = std::nullopt;
  else if (!arguments.format.empty())
    options.records = record_format(arguments.format);
  if (!arguments.pooling.empty())
    options.pooling = arguments.pooling == "mean" ? nn::Pooling::mean : nn::Pooling::first;
  if (arguments.doctor) return show(train::examine_text_embedding(options, std::cout));
  const auto result = train::train_text_embedding(options, std::cout, terminal_info(1));
  nlohmann::ordered_json figures;
  if (result.run.evaluation) {
    std::cout << fmt::format("validation: loss {:.4f}, recall at 1 {:.4g}\n", result.valid_loss, result.valid_recall);
    figures = {{"valid_loss", result.valid_loss}, {"valid_recall_at_1", result.valid_recall}};
  }
  print_end(arguments, result.run);
  return end_run(arguments, result.run, std::move(figures));
}

}  // namespace

void add_train_embedding(Command train) {
  const auto arguments = std::make_shared<TrainEmbeddingArguments>();
  train::TextEmbeddingOptions& o = arguments->options;
  Command command = train.subcommand("embedding", "Learn vectors of texts from pairs that belong together");
  command.footer(
      "  preset     layers  width  heads  vocabulary  batch  epochs  lr    dropout  longest text\n"
      "  small           2    128      4        4000     64      10  1e-3      0.1  128 tokens\n"
      "  fine-tune   as --init                           64       1  5e-5  its own  the model's positions\n"
      "Both: weight decay 0.01, clip norm 1, warm-up over a tenth of the steps, an evaluation each epoch. small is "
      "the\n"
      "default, fine-tune with --init. sentence-transformers opens the folder.\n"
      "Example: tapeformer train embedding --data questions.jsonl --init MiniLM --out runs/questions");
  command.option("--data", o.data, "Pairs of texts to learn from").required();
  command.option("--valid", o.valid, "Pairs to validate with, in place of some of --data");
  command.option("--valid-fraction", o.valid_fraction, "How many those are").within(0, 1).default_text("0.1");
  command.option("--format", arguments->format, "pairs: text TAB text; jsonl; csv; table: a TSV that names its columns")
      .one_of({"pairs", "jsonl", "csv", "table"})
      .default_text("by the end of --data: .jsonl, .csv, else pairs");
  command.option("--anchor-column", o.fields.source, "Field of records that holds the text that looks");
  command.option("--positive-column", o.fields.target, "Field that holds the text that it is to find");
  command.option("--temperature", o.temperature, "Cosines are divided by it").above(0);
  command.flag("--symmetric", o.symmetric, "The second text must find the first, too");
  command
      .option("--pooling", arguments->pooling,
              "How positions become one vector; mean unless the 1_Pooling of --init says first")
      .one_of({"first", "mean"});
  add_encoder_options(command, o, "Pairs", "text, longer ones are cut");
  add_run_options(command, *arguments, {"small", "fine-tune"});
  command.runs([arguments] { return train_embedding(*arguments); });
}

}  // namespace tape::tools
