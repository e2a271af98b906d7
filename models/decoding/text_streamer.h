#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../../text/tokenizers/stream_decoder.h"

namespace tape::models {

/// Writes the texts of a batch in row order while generate() produces them (GenerateOptions::on_token): the first
/// unfinished text as it grows, later ones when their turn comes. Each ends with a line feed; a line "---" separates
/// them.
class TextStreamer {
 public:
  /// Receives the next part of the output; each has whole characters only.
  using Write = std::function<void(std::string_view text)>;
  /// The tokenizer must outlive this object.
  TextStreamer(const text::Tokenizer& tokenizer, Write write) : tokenizer_(tokenizer), write_(std::move(write)) {}

  /// A row of a batch.
  struct Prompt {
    std::string text = {};          ///< written before the continuation
    std::vector<int64_t> ids = {};  ///< ids of the prompt, which affect how the first token is joined
  };
  /// Starts a batch of these rows, discarding an unfinished one.
  void begin(std::span<const Prompt> prompts);
  /// Takes the next token of a row, or nullopt at its end.
  void push(int64_t row, std::optional<int64_t> token);

 private:
  struct Row {
    text::StreamDecoder decoder;
    std::string text = {};  // not yet written
    bool begun = false, ended = false;
  };
  void write();

  const text::Tokenizer& tokenizer_;
  const Write write_;
  std::vector<Row> rows_;
  size_t current_ = 0;
  bool first_ = true;  // whether no text has been written yet
};

}  // namespace tape::models
