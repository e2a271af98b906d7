#include "models/sentence/sentence_encoder.h"
#include "autograd/create.h"
#include "nn/gradcheck/check.h"

namespace tape::models {
namespace {

template <SentencePooling pooling>
GradcheckReport check_sentence_encoder(const nn::Checker& check) {
  SentenceEncoder model({.encoder = detail::small_bert(), .pooling = {pooling}, .normalize = true});
  return check(model, {tensor({{1, 2, 4}, {3, 1, 5}}, i64)}, "key.bias");
}

const nn::ModuleCheck mean_of_all("SentenceEncoder", "mean", check_sentence_encoder<SentencePooling::mean>);

const nn::ModuleCheck cls_check("SentenceEncoder", "first position", check_sentence_encoder<SentencePooling::cls>);

}  // namespace
}  // namespace tape::models
