#pragma once

#include <memory>
#include <type_traits>
#include <variant>

#include "../decoders/causal_lm.h"
#include "../encoder_decoders/encoder_decoder.h"
#include "../encoders/encoder_model.h"
#include "../heads/masked_language_model.h"
#include "../heads/question_answerer.h"
#include "../heads/sequence_classifier.h"
#include "../heads/token_classifier.h"
#include "../vision/vit.h"

namespace tape::models {

/// A model of any kind that a folder can contain, by its interface: Gpt and Llama are a CausalLM, Bart an
/// EncoderDecoder, Bert an EncoderModel.
using AnyModel = std::variant<std::unique_ptr<CausalLM>, std::unique_ptr<EncoderDecoder>, std::unique_ptr<EncoderModel>,
                              std::unique_ptr<MaskedLanguageModel>, std::unique_ptr<SequenceClassifier>,
                              std::unique_ptr<TokenClassifier>, std::unique_ptr<QuestionAnswerer>, std::unique_ptr<Vit>,
                              std::unique_ptr<ImageClassifier>>;

/// The contained module.
inline nn::Module& module_of(const AnyModel& model) {
  return std::visit([](const auto& m) -> nn::Module& { return *m; }, model);
}

/// Calls use(model) with the module cast to its kind; returns false if it is of none.
template <class Use>
bool with_kind(const nn::Module& module, Use&& use) {
  const auto is = [&]<class M>(std::type_identity<std::unique_ptr<M>>) {
    const M* const model = dynamic_cast<const M*>(&module);
    if (model) use(*model);
    return model != nullptr;
  };
  return [&]<class... Kinds>(std::type_identity<std::variant<Kinds...>>) {
    return (is(std::type_identity<Kinds>()) || ...);
  }(std::type_identity<AnyModel>());
}

}  // namespace tape::models
