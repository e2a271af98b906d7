#include "tools/commands.h"

#include <memory>

#include <fmt/format.h>

#include "tools/train/train_encoder.h"
#include "train/tasks/embedding.h"

namespace tape::tools {

void add_train_embedding(Command train) {
  const auto arguments = std::make_shared<EncoderArguments<train::TextEmbeddingOptions>>();
  train::TextEmbeddingOptions& o = arguments->options;
  Command command = train.subcommand("embedding", "Train text embeddings on pairs of related texts");
  command.footer(encoder_presets("text", {.batch = 64, .epochs = 10, .lr = "1e-3", .dropout = "0.1", .longest = 128},
                                 {.batch = 64, .epochs = 1, .lr = "5e-5"}, "5e-4") +
                 " sentence-transformers can load the folder.\n"
                 "Example: tapeformer train embedding --data questions.jsonl --init MiniLM --out runs/questions");
  add_data_options(command, o,
                   {"Pairs of texts for training", "Pairs for validation", "Share of the pairs used for validation"});
  command.option("--format", arguments->format, "pairs: text TAB text; jsonl; csv; table: a TSV with a header")
      .one_of({"pairs", "jsonl", "csv", "table"})
      .default_text("by the extension of --data: .jsonl, .csv, else pairs");
  command.option("--anchor-column", o.fields.source, "Records: field of the query text");
  command.option("--positive-column", o.fields.target, "Records: field of the text to find");
  command.option("--temperature", o.temperature, "Divisor of the cosine similarities").above(0);
  command.flag("--symmetric", o.symmetric, "Also train to find the first text from the second");
  add_pooling_option(command, arguments->pooling, "default: as in --init, else mean");
  add_init_options(command, o, arguments->adapters);
  add_batch_options(command, o, "Pairs", "text");
  add_run_options(command, *arguments, {"small", "fine-tune", "adapters"});
  command.runs([arguments] {
    begin_run(*arguments);
    arguments->options.records = record_format_of_data(arguments->format, arguments->options.data);
    check_data_options(*arguments, {"--anchor-column", "--positive-column"});
    return run_task(*arguments, train::examine_text_embedding, train::train_text_embedding,
                    [](const train::TextEmbeddingResult& result) {
                      return Validation{
                          fmt::format("loss {:.4f}, recall at 1 {:.4g}", result.valid_loss, result.valid_recall),
                          {{"valid_loss", result.valid_loss}, {"valid_recall_at_1", result.valid_recall}}};
                    },
                    {"{0} inspect --model {1} --text {2} --out {1}/inspect.html", "{0} report --model {1}"});
  });
}

}  // namespace tape::tools
