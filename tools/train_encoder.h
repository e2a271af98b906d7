#pragma once

#include <string>
#include <string_view>

#include "nn/transformer/heads.h"
#include "text/record_reader.h"
#include "tools/train_adapters.h"
#include "tools/train_task.h"

// What the tasks of `tapeformer train` share that train an encoder.
namespace tape::tools {

/// "jsonl", "csv", or "table" for a TSV that names its columns; nothing for another format.
std::optional<text::RecordFormat> records_named(std::string_view format);

/// Records as --format says, without it as the end of the file's name; a .tsv is then no table.
std::optional<text::RecordFormat> records_of_data(const std::optional<std::string>& format, const std::string& data);

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

}  // namespace tape::tools
