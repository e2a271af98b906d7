#pragma once

#include <memory>
#include <string>

#include "../../text/load_tokenizer.h"
#include "encoder_decoder.h"
#include "translate.h"

namespace tape::models {

/// What translates: a model with two stacks, and its tokenizer, whose target() writes what it says.
struct Translator {
  std::unique_ptr<EncoderDecoder> model;
  std::unique_ptr<text::Tokenizer> tokenizer;
};

/// Both of one folder; `languages`, of a tokenizer of several: from which and to which. Error (config) where the folder
/// holds a model of another class, where the tokenizer has more tokens than the model, and where it knows languages and
/// neither the folder nor `languages` says which to translate to; else as load_model() and load_tokenizer().
Translator load_translator(const std::string& folder, const text::Languages& languages = {});

/// The options with what the tokenizer decides: what targets begin with (target_start()), and how many ids are words.
TranslateOptions translate_options(const EncoderDecoder& model, const text::Tokenizer& tokenizer,
                                   TranslateOptions options = {});

}  // namespace tape::models
