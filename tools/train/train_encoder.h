#pragma once

#include <initializer_list>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "nn/transformer/heads.h"
#include "text/corpus/record_reader.h"
#include "tools/train/train_task.h"

// Shared by the tasks of `tapeformer train` that train an encoder.
namespace tape::tools {

/// Record format for "jsonl", "csv", or "table" (a TSV with a header); empty for another format.
std::optional<text::RecordFormat> record_format_named(std::string_view format);

/// Record format by --format, else by the file's extension. A .tsv is a table only with --format table.
std::optional<text::RecordFormat> record_format_of_data(const std::optional<std::string>& format,
                                                        const std::string& data);

/// Options of a task and their command-line forms.
template <class Options>
struct EncoderArguments : TrainArguments {
  Options options;
  AdapterArguments adapters;
  std::optional<std::string> format;
  std::string pooling;
};

/// Throws Error (config) for --valid-fraction with --valid, and for the options `columns` unless the data has records.
template <class Options>
void check_data_options(const EncoderArguments<Options>& arguments, std::initializer_list<const char*> columns) {
  const Options& options = arguments.options;
  if (!options.valid.empty()) refuse_given(arguments, {"--valid-fraction"}, "has no effect with --valid");
  if (!options.records)
    refuse_given(arguments, columns,
                 fmt::format("applies to records only, and {} is not read as such; choose a --format", options.data));
}

/// Result of a validation, as a sentence and as JSON.
struct Validation {
  std::string sentence;
  nlohmann::ordered_json figures;
};

/// Help texts of --data, --valid and --valid-fraction: "Training lines", "Validation lines", "Share of the lines ...".
struct DataWords {
  std::string data, valid, fraction;
};
template <class Options>
void add_data_options(Command& command, Options& o, const DataWords& words) {
  command.option("--data", o.data, words.data).value_name("FILE").required();
  command.option("--valid", o.valid, words.valid + "; default: a part of --data").value_name("FILE");
  command.option("--valid-fraction", o.valid_fraction, words.fraction).within(0, 1).default_text("0.1");
}

/// Adds --pooling "first" or "mean", "" if not given. `otherwise` is the help text for the default.
void add_pooling_option(Command& command, std::string& pooling, const std::string& otherwise);
std::optional<nn::Pooling> pooling_named(std::string_view pooling);

/// Adds --init, --new-head, --freeze and the options of adapters.
template <class Options>
void add_init_options(Command& command, Options& o, AdapterArguments& adapters) {
  const Option init =
      command.option("--init", o.init, "Folder of an encoder to start from; default: train from scratch")
          .value_name("DIR");
  if constexpr (requires { o.new_head; })
    command.flag("--new-head", o.new_head, "Replace the classification head of --init to train on other labels");
  command.option("--freeze", o.freeze, "Freeze the embeddings and this many layers of --init").at_least(0);
  add_adapter_options(command, adapters, init);
}

/// Adds options of the batches and the size of a model from scratch. For the help: `examples` ("Lines") are batched,
/// --max-length limits each `text` ("line"), and longer ones `become` something.
template <class Options>
void add_batch_options(Command& command, Options& o, const std::string& examples, const std::string& text,
                       const std::string& become = "are truncated") {
  command.option("--batch", o.batch, examples + " per batch").at_least(1).default_text("preset");
  command.option("--batch-tokens", o.batch_tokens, "Also limit the tokens per batch, with padding").at_least(1);
  command.option("--max-length", o.max_length, fmt::format("Maximum tokens per {}; longer ones {}", text, become))
      .at_least(1)
      .default_text("preset");
  command.option("--vocab-size", o.vocab_size, "From scratch: vocabulary size of the byte-level BPE")
      .at_least(1)
      .default_text("preset");
  add_model_options(command, o.layers, o.width, o.heads);
}

/// A row of the table of presets, except the model sizes.
struct PresetFigures {
  int batch = 0, epochs = 0;
  const char* lr = "";
  const char* dropout = "";  // only from scratch; --init has its own
  int longest = 0;           // likewise
};
/// The table of a task's presets for --help, with notes. `text` names what the maximum length applies to. The preset
/// for adapters equals fine_tune except for its learning rate.
std::string encoder_presets(std::string_view text, const PresetFigures& small, const PresetFigures& fine_tune,
                            const char* adapters_lr);
/// The presets of classifiers.
std::string classifier_presets(std::string_view text);

/// After begin_run(): trains, or diagnoses with --doctor, and prints the result: validation(result), and the `next`
/// commands of print_end(). Returns the exit code.
template <class Options, class Examine, class Train, class Validate>
int run_task(EncoderArguments<Options>& arguments, Examine* examine, Train* train, const Validate& validation,
             const std::vector<std::string>& next) {
  Options& options = arguments.options;
  options.run = arguments.run;
  options.adapters = adapters_of(arguments.adapters);
  if constexpr (requires { options.pooling; }) options.pooling = pooling_named(arguments.pooling);
  if (arguments.doctor) return show(examine(options, std::cout));
  const auto result = train(options, std::cout, terminal_info(1));
  nlohmann::ordered_json figures;
  if (result.run.evaluation) {
    Validation found = validation(result);
    std::cout << fmt::format("validation: {}\n", found.sentence);
    figures = std::move(found.figures);
  }
  print_end(arguments, result.run, next);
  return end_run(arguments, result.run, std::move(figures));
}

}  // namespace tape::tools
