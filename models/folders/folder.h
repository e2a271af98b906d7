#pragma once

#include <memory>
#include <string>
#include <typeinfo>
#include <variant>

#include "../decoding/target_start.h"
#include "../families.h"
#include "any_model.h"
#include "layout.h"

namespace tape::models {

/// Reads a folder in the layout of Hugging Face's transformers: `config.json`, whose "architectures" name the class,
/// and `model.safetensors`, or the shards that `model.safetensors.index.json` lists. f16 and bf16 values become f32.
///
///     BertModel                      Bert                   GPT2LMHeadModel                 Gpt
///     RobertaModel, XLMRobertaModel  Roberta                LlamaForCausalLM                Llama
///     DistilBertModel                DistilBert             MistralForCausalLM              Llama
///     MPNetModel                     MPNet                  Qwen2ForCausalLM                Llama
///     DebertaV2Model                 Deberta                Qwen3ForCausalLM                Llama
///     ModernBertModel                ModernBert             GPTNeoXForCausalLM              GptNeoX
///     BertForMaskedLM                MaskedLanguageModel    MarianMTModel                   Transformer
///     BertForSequenceClassification  SequenceClassifier     M2M100ForConditionalGeneration  Transformer
///     BertForTokenClassification     TokenClassifier        BartForConditionalGeneration    Bart
///     BertForQuestionAnswering       QuestionAnswerer       MBartForConditionalGeneration   Bart
///     ViTModel                       Vit                    T5ForConditionalGeneration      T5
///     ViTForImageClassification      ImageClassifier        MT5ForConditionalGeneration     T5
///
/// The four heads are those of every encoder. A folder with a "model_type" and without "architectures" is the language
/// model of its type, or an encoder or ViT with the head that its tensors are of, or without one; a masked language
/// model's folder with the tensors of its encoder alone is read as that. Names of tensors may lack the prefix of the
/// base model ("model.", "bert."), or have it in a base model. The ends of a decoder-only model are those of
/// generation_config.json where there is one. Transformers that neither of these two can express have the "model_type"
/// "tapeformer-transformer", classifiers that pool the mean, which transformers has no class for,
/// "tapeformer-mean-pooling-classifier". The model is in evaluation mode. Every Error names the file: (io) for one that
/// cannot be read; (format) or (config) with the key for a configuration that is broken, of an unknown architecture, or
/// asks for what is not computed here; (format) with every tensor that does not fit, before a model is made. A folder
/// with adapters in place of a model is read as load_with_adapter() does.
AnyModel load_model(const std::string& folder);

/// The same where the class is known: load<Gpt>("gpt2"), load<CausalLM>(folder) for any decoder-only model,
/// load<EncoderDecoder>(folder) for any with two stacks, load<EncoderModel>(folder) for any encoder without a head.
/// Error (config) where the folder holds another.
template <class M>
std::unique_ptr<M> load(const std::string& folder);

/// What load<M>() says of a folder with a model of another class than M, `needed`.
[[noreturn]] void refuse_class(const std::string& folder, const nn::Module& held, const std::type_info& needed);

template <class M>
std::unique_ptr<M> load(const std::string& folder) {
  AnyModel model = load_model(folder);
  M* const found = dynamic_cast<M*>(&module_of(model));
  if (!found) refuse_class(folder, module_of(model), typeid(M));
  std::visit([](auto& held) { static_cast<void>(held.release()); }, model);
  return std::unique_ptr<M>(found);
}

struct SaveOptions {
  int64_t max_shard_bytes = 5'000'000'000;  ///< a file's values; more than this is split, and an index written
  /// How the folder says that targets begin, of a model with two stacks; as its options say where not given. That of
  /// models::target_start() after learning one of many languages.
  std::optional<TargetStart> target_start = {};
};

/// Writes a folder that load_model() and transformers read; it is made where it is missing. Tied tensors are saved
/// once. generation_config.json has a decoder-only model's ends, and how targets of one with two stacks begin and are
/// searched. Each file is written beside, flushed and renamed, the configuration last. Error (io) naming the file;
/// Error (config) for a model that transformers has no class for.
void save(const std::string& folder, const nn::Module& model, const SaveOptions& options = {});
void save(const std::string& folder, const AnyModel& model, const SaveOptions& options = {});

/// Removes the files that any model is saved as, adapters and vectors of texts included, so that none is found beside
/// one that is saved next. Error (io) naming what cannot be removed.
void remove_model(const std::string& folder);

/// How the model's folder names and keeps its tensors. Error (config) for a model that transformers has no class for.
Layout layout_of(const nn::Module& model);
Layout layout_of(const AnyModel& model);

/// Values or gradients of a model's parameters under the names, and in the shapes, of its folder.
std::map<std::string, Tensor> to_file_names(const AnyModel& model, const nn::StateDict& values);

}  // namespace tape::models
