#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../../text/stream_decoder.h"

namespace tape::models {

/// Writes the texts of a batch in row order while generate() produces them (GenerateOptions::on_token): the first
/// unfinished text as it grows, later ones when their turn comes. Each ends with a line feed; a line "---" separates
/// them.
class TextStreamer {
 public:
  using Write = std::function<void(std::string_view text)>;
  TextStreamer(const text::Tokenizer& tokenizer, Write write) : tokenizer_(tokenizer), write_(std::move(write)) {}

  /// Starts a batch, given the ids of each row's prompt and the text to write before its continuation.
  struct Prompt {
    std::string text = {};
    std::vector<int64_t> ids = {};
  };
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
