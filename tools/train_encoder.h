#pragma once

#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "nn/transformer/heads.h"
#include "text/record_reader.h"
#include "tools/train_task.h"

// What the tasks of `tapeformer train` share that train an encoder.
namespace tape::tools {

/// "jsonl", "csv", or "table" for a TSV that names its columns; nothing for another format.
std::optional<text::RecordFormat> records_named(std::string_view format);

/// Records as --format says, without it as the end of the file's name; a .tsv is then no table.
std::optional<text::RecordFormat> records_of_data(const std::optional<std::string>& format, const std::string& data);

/// A task's options as the command is told of them.
template <class Options>
struct EncoderArguments : TrainArguments {
  Options options;
  AdapterArguments adapters;
  std::optional<std::string> format;
  std::string pooling;
};

/// What a validation found: a sentence, and the same as figures.
struct Validation {
  std::string sentence;
  nlohmann::ordered_json figures;
};

/// What it learns from, in words: "Lines to learn from", "Lines to validate with", "How many lines those are".
struct DataWords {
  std::string data, valid, fraction;
};
template <class Options>
void add_data_options(Command& command, Options& o, const DataWords& words) {
  command.option("--data", o.data, words.data).value_name("FILE").required();
  command.option("--valid", o.valid, words.valid + ", in place of some of --data").value_name("FILE");
  command.option("--valid-fraction", o.valid_fraction, words.fraction).within(0, 1).default_text("0.1");
}

/// How positions become one vector: --pooling "first" or "mean", "" where it is not given, of which `otherwise` says
/// what holds then.
void add_pooling_option(Command& command, std::string& pooling, const std::string& otherwise);
std::optional<nn::Pooling> pooling_named(std::string_view pooling);

/// What an encoder begins with, what of it is held still, and adapters in its place.
template <class Options>
void add_init_options(Command& command, Options& o, AdapterArguments& adapters) {
  const Option init =
      command.option("--init", o.init, "Folder of an encoder to begin with; without it the model starts from scratch")
          .value_name("DIR");
  if constexpr (requires { o.new_head; })
    command.flag("--new-head", o.new_head, "Where --init has such a head: learn other labels than its own");
  command.option("--freeze", o.freeze, "Hold the embeddings and so many layers of --init still").at_least(0);
  add_adapter_options(command, adapters, init);
}

/// Batches of `examples` ("Lines"), each a `text` or of such ("line"), of which longer ones `become` something, and
/// sizes of a model from scratch.
template <class Options>
void add_batch_options(Command& command, Options& o, const std::string& examples, const std::string& text,
                       const std::string& become = "are cut") {
  command.option("--batch", o.batch, examples + " a batch").at_least(1).default_text("preset");
  command.option("--batch-tokens", o.batch_tokens, "Most tokens of a batch besides, with padding").at_least(1);
  command.option("--max-length", o.max_length, fmt::format("Tokens of a {}, longer ones {}", text, become))
      .at_least(1)
      .default_text("preset");
  command.option("--vocab-size", o.vocab_size, "From scratch: tokens of the byte-level BPE")
      .at_least(1)
      .default_text("preset");
  add_model_options(command, o.layers, o.width, o.heads);
}

/// A line of the table of presets: what one has beside the sizes.
struct PresetFigures {
  int batch = 0, epochs = 0;
  const char* lr = "";
  const char* dropout = "";  // from scratch; an --init has its own
  int longest = 0;           // the same
};
/// The presets of a task as --help lists them, and what follows; `text` is the example whose tokens are counted. That
/// for adapters is as fine_tune but for its rate.
std::string encoder_presets(std::string_view text, const PresetFigures& small, const PresetFigures& fine_tune,
                            const char* adapters_lr);
/// Those of labels.
std::string classifier_presets(std::string_view text);

/// Trains, or examines with --doctor, and prints how it ended: validation(result), and what comes `next` as print_end()
/// takes it. Gives the exit code.
template <class Options, class Examine, class Train, class Validate>
int run_task(EncoderArguments<Options>& arguments, Examine* examine, Train* train, const Validate& validation,
             const std::vector<std::string>& next) {
  begin_run(arguments);
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
