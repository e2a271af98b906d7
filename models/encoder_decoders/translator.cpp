#include "models/encoder_decoders/translator.h"

#include "base/error.h"
#include "models/decoding/target_start.h"
#include "models/folders/folder.h"
#include "models/folders/tokenizer_fit.h"

namespace tape::models {

Translator load_translator(const std::string& folder, const text::Languages& languages) {
  Translator made{load<EncoderDecoder>(folder), text::load_tokenizer(folder, languages)};
  const text::Tokenizer &source = *made.tokenizer, &target = source.target();
  check_tokenizer_fits(folder, source, "src_vocab", made.model->options().src_vocab);
  check_tokenizer_fits(folder, target, "tgt_vocab", made.model->options().tgt_vocab);
  if (source.language() && &target == &source)
    raise(ErrorKind::config, "{}/tokenizer_config.json: no target language: neither tgt_lang nor the caller sets one",
          folder);
  return made;
}

TranslateOptions translate_options(const EncoderDecoder& model, const text::Tokenizer& tokenizer,
                                   TranslateOptions options) {
  const TargetStart start = target_start(model, tokenizer);
  options.bos = start.bos, options.forced_bos = start.forced_bos;
  options.vocabulary = tokenizer.target().vocab_size();
  return options;
}

}  // namespace tape::models
