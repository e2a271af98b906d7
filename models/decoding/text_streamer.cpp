#include "models/decoding/text_streamer.h"

#include <utility>

namespace tape::models {

void TextStreamer::begin(std::span<const Prompt> prompts) {
  rows_.clear();
  current_ = 0;
  for (const Prompt& prompt : prompts)
    rows_.push_back({.decoder = text::StreamDecoder(tokenizer_, prompt.ids), .text = prompt.text});
  write();
}

void TextStreamer::push(int64_t row, std::optional<int64_t> token) {
  Row& r = rows_[static_cast<size_t>(row)];
  r.text += token ? r.decoder.push(*token) : r.decoder.finish();
  r.ended = !token;
  write();
}

void TextStreamer::write() {
  std::string text;
  for (; current_ < rows_.size(); ++current_) {
    Row& row = rows_[current_];
    if (!row.begun && !first_) text += "---\n";
    row.begun = true;
    first_ = false;
    text += std::exchange(row.text, "");
    if (!row.ended) break;
    text += '\n';
  }
  if (!text.empty()) write_(text);
}

}  // namespace tape::models
