#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../../text/stream_decoder.h"

namespace tape::models {

/// Writes the texts of a batch in the order of their rows while generate() makes them (GenerateOptions::on_token): the
/// first that has not ended as it grows, those behind it once their turn has come. Each ends with a line feed, and a
/// line "---" stands between two.
class TextStreamer {
 public:
  using Write = std::function<void(std::string_view text)>;
  TextStreamer(const text::Tokenizer& tokenizer, Write write) : tokenizer_(tokenizer), write_(std::move(write)) {}

  /// A batch begins: the ids of each row's prompt, and what is written in front of what follows it.
  struct Prompt {
    std::string text = {};
    std::vector<int64_t> ids = {};
  };
  void begin(std::span<const Prompt> prompts);
  /// The next token of a row, or nothing where it ends.
  void push(int64_t row, std::optional<int64_t> token);

 private:
  struct Row {
    text::StreamDecoder decoder;
    std::string text = {};  // not written yet
    bool begun = false, ended = false;
  };
  void write();

  const text::Tokenizer& tokenizer_;
  const Write write_;
  std::vector<Row> rows_;
  size_t current_ = 0;
  bool first_ = true;  // of all texts
};

}  // namespace tape::models
