#include "tools/train/train_encoder.h"

#include <fmt/format.h>

namespace tape::tools {

std::optional<text::RecordFormat> record_format_named(std::string_view format) {
  if (format == "jsonl") return text::RecordFormat::jsonl;
  if (format == "csv") return text::RecordFormat::csv;
  if (format == "table") return text::RecordFormat::tsv;
  return std::nullopt;
}

std::optional<text::RecordFormat> record_format_of_data(const std::optional<std::string>& format,
                                                        const std::string& data) {
  if (format) return record_format_named(*format);
  const std::optional<text::RecordFormat> records = text::record_format_of(data);
  return records == text::RecordFormat::tsv ? std::nullopt : records;
}

void add_pooling_option(Command& command, std::string& pooling, const std::string& otherwise) {
  command.option("--pooling", pooling, fmt::format("How the hidden states become one vector; {}", otherwise))
      .one_of({"first", "mean"});
}

std::optional<nn::Pooling> pooling_named(std::string_view pooling) {
  if (pooling.empty()) return std::nullopt;
  return pooling == "mean" ? nn::Pooling::mean : nn::Pooling::first;
}

std::string encoder_presets(std::string_view text, const PresetFigures& small, const PresetFigures& fine_tune,
                            const char* adapters_lr) {
  const auto with_init = [&](const char* name, const char* lr) {
    return fmt::format(
        "  {:9}   as --init                           {}      {:2}  {}  its own  the model's positions\n", name,
        fine_tune.batch, fine_tune.epochs, lr);
  };
  return fmt::format(
      "  preset     layers  width  heads  vocabulary  batch  epochs  lr    dropout  maximum {}\n"
      "  small           2    128      4        4000     {}      {}  {}      {}  {} tokens\n"
      "{}{}"
      "All: clip norm 1, warm-up over a tenth of the steps, an evaluation after each epoch. Weight decay 0.01, except\n"
      "for adapters. The default is small, with --init fine-tune, with --lora-rank adapters.",
      text, small.batch, small.epochs, small.lr, small.dropout, small.longest, with_init("fine-tune", fine_tune.lr),
      with_init("adapters", adapters_lr));
}

std::string classifier_presets(std::string_view text) {
  return encoder_presets(text, {.batch = 32, .epochs = 10, .lr = "1e-3", .dropout = "0.2", .longest = 256},
                         {.batch = 32, .epochs = 3, .lr = "2e-4"}, "2e-3");
}

}  // namespace tape::tools
