#pragma once

#include <memory>
#include <string>

#include "../../text/tokenizers/load_tokenizer.h"
#include "encoder_decoder.h"
#include "translate.h"

namespace tape::models {

/// An encoder-decoder model and its tokenizer, whose target() decodes the output.
struct Translator {
  std::unique_ptr<EncoderDecoder> model;       ///< in evaluation mode
  std::unique_ptr<text::Tokenizer> tokenizer;  ///< encodes sources; its target() decodes translations
};

/// Loads both from a folder; `languages` selects the source and target language of a multilingual tokenizer. Throws
/// Error (config) if the model is of another class, if the tokenizer has more tokens than the model, or if a
/// multilingual tokenizer has no target language; and the errors of load_model() and load_tokenizer().
Translator load_translator(const std::string& folder, const text::Languages& languages = {});

/// Sets the options that the tokenizer determines: the target's start (target_start()) and the vocabulary size.
TranslateOptions translate_options(const EncoderDecoder& model, const text::Tokenizer& tokenizer,
                                   TranslateOptions options = {});

}  // namespace tape::models
