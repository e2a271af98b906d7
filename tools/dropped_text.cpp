#include "tools/dropped_text.h"

#include "text/tokenizers/byte_level_bpe.h"
#include "tools/terminal/lines.h"

namespace tape::tools {

DroppedText::DroppedText(const text::Tokenizer& tokenizer) {
  if (const auto* const bytes = dynamic_cast<const text::ByteLevelBpe*>(&tokenizer)) dropped_.emplace(*bytes);
}

void DroppedText::add(std::string_view text) {
  if (dropped_) dropped_->add(text);
}

void DroppedText::report() const {
  if (dropped_) tell(dropped_->note());
}

}  // namespace tape::tools
