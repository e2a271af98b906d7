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

/// Loads a model folder of Hugging Face transformers: `config.json`, whose "architectures" name the class, and
/// `model.safetensors`, or the shards that `model.safetensors.index.json` lists. f16 and bf16 values become f32.
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
/// Every encoder has the four heads. A folder with a "model_type" but no "architectures" is the language model of that
/// type, or an encoder or ViT with or without a head, depending on its tensors. A masked language model's folder that
/// has only the encoder's tensors is loaded as the encoder. Tensor names may lack the prefix of the base model
/// ("model.", "bert."), or have it in a base model. generation_config.json overrides a decoder-only model's end tokens.
/// Two model types are our own, for models that transformers has no class for: "tapeformer-transformer" and, for
/// classifiers that pool the mean, "tapeformer-mean-pooling-classifier". The model is in evaluation mode. A folder with
/// adapters instead of a model is loaded as by load_with_adapter().
///
/// Every Error names the file: (io) if it cannot be read; (format) or (config) with the key if the configuration is
/// invalid, of an unknown architecture, or requests an unsupported computation; (format) with every tensor that does
/// not match, before a model is made.
AnyModel load_model(const std::string& folder);

/// The same for a known class: load<Gpt>("gpt2"), load<CausalLM>(folder) for any decoder-only model,
/// load<EncoderDecoder>(folder) for any encoder-decoder model, load<EncoderModel>(folder) for any encoder without a
/// head. Throws Error (config) if the folder has a model of another class.
template <class M>
std::unique_ptr<M> load(const std::string& folder);

/// The error of load<M>() for a folder with a model of another class than M, `needed`.
[[noreturn]] void refuse_class(const std::string& folder, const nn::Module& held, const std::type_info& needed);

template <class M>
std::unique_ptr<M> load(const std::string& folder) {
  AnyModel model = load_model(folder);
  M* const found = dynamic_cast<M*>(&module_of(model));
  if (!found) refuse_class(folder, module_of(model), typeid(M));
  std::visit([](auto& held) { static_cast<void>(held.release()); }, model);
  return std::unique_ptr<M>(found);
}

/// Options of save().
struct SaveOptions {
  int64_t max_shard_bytes = 5'000'000'000;  ///< larger weights are split into several files with an index
  /// How targets of an encoder-decoder model begin; default: the model's options. After training one of many
  /// languages, pass models::target_start().
  std::optional<TargetStart> target_start = {};
};

/// Writes a folder that load_model() and transformers read, creating it if necessary. Tied tensors are saved once.
/// generation_config.json has a decoder-only model's end tokens, and an encoder-decoder model's target start and search
/// defaults. Each file is written to a temporary file, flushed and renamed, the configuration last. Throws Error (io)
/// naming the file; (config) if transformers has no class for the model, or if it has active adapters that are not
/// merged.
void save(const std::string& folder, const nn::Module& model, const SaveOptions& options = {});
/// Same for a model of any kind.
void save(const std::string& folder, const AnyModel& model, const SaveOptions& options = {});

/// Removes the files of any saved model, including adapters and sentence encoder modules, so that none remain next to
/// one saved later. Throws Error (io) naming a file that cannot be removed.
void remove_model(const std::string& folder);

/// Layout of the tensors in the model's folder. Throws Error (config) if transformers has no class for the model.
Layout layout_of(const nn::Module& model);
/// Same for a model of any kind.
Layout layout_of(const AnyModel& model);

/// Values or gradients of a model's parameters under the names, and in the shapes, of its folder.
std::map<std::string, Tensor> to_file_names(const AnyModel& model, const nn::StateDict& values);

}  // namespace tape::models
