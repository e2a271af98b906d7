#pragma once

#include <cstdint>
#include <string>

#include "../tokenizers/tokenizer.h"

namespace tape::text {

/// Removes the padding tokens of texts that contain them literally, as in "Use <pad> here.", and counts them. Models
/// ignore padding wherever it is, and some refuse it within a text.
class PaddingInTexts {
 public:
  /// Of an encoding that was not padded.
  void remove(Encoding& encoding, int64_t padding_id);

  /// `3 padding tokens within texts are ignored: "<pad>"`; "" if there were none.
  std::string note(const Tokenizer& tokenizer) const;

 private:
  int64_t removed_ = 0, padding_id_ = -1;
};

}  // namespace tape::text
