#include "tools/commands.h"

#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "tools/train/train_encoder.h"
#include "train/tasks/masked_lm.h"

namespace tape::tools {

void add_train_mlm(Command train) {
  const auto arguments = std::make_shared<EncoderArguments<train::MaskedLMOptions>>();
  train::MaskedLMOptions& o = arguments->options;
  Command command = train.subcommand("mlm", "Train an encoder on unlabeled text by predicting masked tokens");
  command.footer(encoder_presets("line", {.batch = 32, .epochs = 10, .lr = "1e-3", .dropout = "0.1", .longest = 128},
                                 {.batch = 32, .epochs = 3, .lr = "5e-5"}, "5e-4") +
                 " train classifier and train embedding accept the folder as --init.\n"
                 "Example: tapeformer train mlm --data letters.txt --init bert-base-uncased --out runs/letters");
  add_data_options(command, o,
                   {"Training text; each line or record is a separate sequence", "Validation text",
                    "Share of the lines used for validation"});
  command.option("--format", arguments->format, "lines; jsonl; csv; table: a TSV with a header")
      .one_of({"lines", "jsonl", "csv", "table"})
      .default_text("by the extension of --data: .jsonl, .csv, .tsv, else lines");
  command.option("--text-column", o.text_field, "Records: field of the text");
  command.option("--mask-share", o.mask_share, "Share of a line's tokens to predict").within(0, 1);
  add_init_options(command, o, arguments->adapters);
  add_batch_options(command, o, "Lines", "line", "are split");
  add_run_options(command, *arguments, {"small", "fine-tune", "adapters"});
  command.runs([arguments] {
    begin_run(*arguments);
    const std::optional<std::string>& format = arguments->format;
    arguments->options.records =
        format ? record_format_named(*format) : text::record_format_of(arguments->options.data);
    check_data_options(*arguments, {"--text-column"});
    return run_task(*arguments, train::examine_masked_lm, train::train_masked_lm,
                    [](const train::MaskedLMResult& result) {
                      return Validation{
                          fmt::format("loss {:.4f}, perplexity {:.4g}, accuracy {:.4g}", result.valid_loss,
                                      std::exp(result.valid_loss), result.valid_accuracy),
                          {{"valid_loss", result.valid_loss}, {"valid_accuracy", result.valid_accuracy}}};
                    },
                    {"{0} train classifier --data labeled.tsv --init {1} --out runs/classifier",
                     "{0} inspect --model {1} --text {2} --out {1}/inspect.html", "{0} report --model {1}"});
  });
}

}  // namespace tape::tools
