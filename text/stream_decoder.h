#pragma once

#include <string>
#include <vector>

#include "tokenizer.h"

namespace tape::text {

/// The text of tokens that come one by one, for showing it as it grows: whole characters only, though a character may
/// be spread over several tokens. Bytes that are no UTF-8 come out as U+FFFD.
class StreamDecoder {
 public:
  /// `before`: tokens that were shown already, such as a prompt's; what comes is joined to them (a space between).
  explicit StreamDecoder(const Tokenizer& tokenizer, std::vector<int64_t> before = {});

  /// What can be shown now, perhaps nothing. Error (index) for an id that is not in the vocabulary.
  std::string push(int64_t id);
  /// What was held back.
  std::string finish();

 private:
  std::string text_of_window();

  const Tokenizer& tokenizer_;
  std::vector<int64_t> ids_;  // those of the last text that was shown, then what came since
  size_t old_;                // how many of them were shown when the window last moved
  std::string shown_;         // what was shown of their text
};

}  // namespace tape::text
