#pragma once

#include <string>
#include <vector>

#include "tokenizer.h"

namespace tape::text {

/// Decodes tokens incrementally for streaming output. Returns whole characters only, since a character may span several
/// tokens. Invalid UTF-8 becomes U+FFFD.
class StreamDecoder {
 public:
  /// `before`: tokens that were already shown, such as a prompt; they affect how the next token is joined (a space).
  explicit StreamDecoder(const Tokenizer& tokenizer, std::vector<int64_t> before = {});

  /// Returns the text that is complete after this token, possibly "". Throws Error (index) for an invalid id.
  std::string push(int64_t id);
  /// Returns the text that was still incomplete.
  std::string finish();

 private:
  std::string text_of_window();

  const Tokenizer& tokenizer_;
  std::vector<int64_t> ids_;  // the window: ids of the last text returned, then newer ones
  size_t old_;                // number of ids already output when the window last moved
  std::string shown_;         // the part of the window's text that was returned
};

}  // namespace tape::text
