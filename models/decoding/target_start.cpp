#include "models/decoding/target_start.h"

namespace tape::models {

TargetStart target_start(const EncoderDecoder& model) { return {model.options().bos_id, model.options().forced_bos}; }

TargetStart target_start(const EncoderDecoder& model, const text::Tokenizer& tokenizer) {
  TargetStart start = target_start(model);
  const text::Tokenizer& target = tokenizer.target();
  // A multilingual tokenizer that is its own target() knows only the source language.
  if (&target == &tokenizer || !target.language()) return start;
  (target.target_begins_with_language() ? start.bos : start.forced_bos.emplace()) = *target.language();
  return start;
}

}  // namespace tape::models
