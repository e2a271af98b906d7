#pragma once

#include <string>
#include <string_view>

#include "text/record_reader.h"
#include "tools/train_task.h"

// What `tapeformer train classifier` and `tapeformer train tokens` share.
namespace tape::tools {

/// "jsonl", "csv", or "table" for a TSV that names its columns; nothing for another format.
std::optional<text::RecordFormat> records_named(std::string_view format);

/// Records as --format says, without it as the end of the file's name; a .tsv is then no table.
std::optional<text::RecordFormat> records_of_data(const std::optional<std::string>& format, const std::string& data);

/// What an encoder begins with, and what of it is held still.
template <class Options>
void add_init_options(Command& command, Options& o) {
  command.option("--init", o.init, "Folder of an encoder to begin with; without it the model starts from scratch");
  command.flag("--new-head", o.new_head, "Where --init has such a head: learn other labels than its own");
  command.option("--freeze", o.freeze, "Hold the embeddings and so many layers of --init still").at_least(0);
}

/// Batches of `examples` ("Lines"), of which one is an `example` ("line"), and sizes of a model from scratch.
template <class Options>
void add_batch_options(Command& command, Options& o, const std::string& examples, const std::string& example) {
  command.option("--batch", o.batch, examples + " a batch").at_least(1).default_text("32");
  command.option("--batch-tokens", o.batch_tokens, "Most tokens of a batch besides, with padding").at_least(1);
  command.option("--max-length", o.max_length, fmt::format("Tokens of a {}, longer ones are cut", example))
      .at_least(1)
      .default_text("preset");
  command.option("--vocab-size", o.vocab_size, "From scratch: tokens of the byte-level BPE")
      .at_least(1)
      .default_text("preset");
  add_model_options(command, o.layers, o.width, o.heads);
}

/// The presets as --help lists them; `example` is that of a line or sentence.
std::string encoder_presets(std::string_view example);

}  // namespace tape::tools
