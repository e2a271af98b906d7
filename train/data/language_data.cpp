#include "train/data/language_data.h"

#include <algorithm>

#include "autograd/create.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/shape/shape.h"
#include "base/error.h"
#include "base/number_text.h"
#include "train/data/document_data.h"
#include "train/data/window_data.h"

namespace tape::train {
namespace {

/// Throws Error (config) unless both texts have enough tokens for windows.
void check_lengths(const TokenStore& store, const TextSources& texts, const LanguageDataOptions& options) {
  if (store.train.size() <= options.context)
    raise(ErrorKind::config, "train lm: {} has {} for training, but context {} needs at least {}", texts.train.file,
          counted(store.train.size(), "token"), options.context, options.context + 1);
  if (store.valid.size() < 2)
    raise(ErrorKind::config, "train lm: {} has {} for validation, which needs at least 2", texts.valid.file,
          counted(store.valid.size(), "token"));
}

}  // namespace

LanguageBatch slice_rows(const LanguageBatch& batch, int64_t first, int64_t rows) {
  const auto slice = [&](const std::vector<int64_t>& list) {
    if (list.empty()) return list;
    const auto begin = list.begin() + first * batch.length;
    return std::vector<int64_t>(begin, begin + rows * batch.length);
  };
  LanguageBatch sliced{.in = slice(batch.in),
                       .out = slice(batch.out),
                       .positions = slice(batch.positions),
                       .documents = slice(batch.documents),
                       .rows = rows,
                       .length = batch.length};
  sliced.learned = sliced.rows * sliced.length - std::ranges::count(sliced.out, LanguageBatch::kIgnoreIndex);
  return sliced;
}

Tensor loss_of(models::CausalLM& model, const LanguageBatch& b) {
  const Tensor ids = from_vector(b.in, {b.rows, b.length}), target = from_vector(b.out, {b.rows, b.length});
  const CrossEntropyOptions options{.ignore_index = LanguageBatch::kIgnoreIndex};
  if (b.documents.empty()) return nn::call_method(model, &models::CausalLM::loss, ids, target, options, Mask());
  const Tensor documents = from_vector(b.documents, {b.rows, 1, 1, b.length});
  const Mask apart = Mask::keep(eq(documents, transpose(documents, 2, 3)));
  const Tensor positions = from_vector(b.positions, {b.rows, b.length});
  return nn::call_method(model, &models::CausalLM::loss_at, ids, positions, target, options, apart);
}

std::unique_ptr<LanguageData> make_language_data(TokenStore store, const TextSources& texts,
                                                 const LanguageDataOptions& options) {
  if (options.pack && !texts.train.has_documents())
    raise(ErrorKind::config, "train lm: {} has no documents to pack: it contains {}", texts.train.file,
          texts.train.is_tokens() ? "tokens" : "a single text");
  if (texts.prompts || options.pack) return std::make_unique<DocumentData>(store, texts, options);
  check_lengths(store, texts, options);
  return std::make_unique<WindowData>(std::move(store), options);
}

}  // namespace tape::train
