#include "train/language_data.h"

#include "base/error.h"
#include "train/document_data.h"
#include "train/window_data.h"

namespace tape::train {

std::unique_ptr<LanguageData> make_language_data(TokenStore store, const LearnedTexts& texts,
                                                 const LanguageDataOptions& options) {
  if (options.pack && !texts.train.has_documents())
    raise(ErrorKind::config, "train lm: {} has no documents to pack: it holds {}", texts.train.file,
          texts.train.is_tokens() ? "tokens" : "one text");
  if (texts.prompts || options.pack) return std::make_unique<DocumentData>(store, texts, options);
  return std::make_unique<WindowData>(std::move(store), options);
}

}  // namespace tape::train
