#pragma once

#include <memory>
#include <string>
#include <variant>

#include "bart.h"
#include "decoding/target_start.h"
#include "encoder_config.h"
#include "gpt.h"
#include "gpt_neox.h"
#include "layout.h"
#include "llama.h"
#include "masked_language_model.h"
#include "question_answerer.h"
#include "sequence_classifier.h"
#include "t5.h"
#include "token_classifier.h"
#include "transformer.h"
#include "vit.h"

namespace tape::models {

/// A model of any class that a folder can hold.
using AnyModel =
    std::variant<std::unique_ptr<Transformer>, std::unique_ptr<Bart>, std::unique_ptr<T5>, std::unique_ptr<Gpt>,
                 std::unique_ptr<Llama>, std::unique_ptr<GptNeoX>, std::unique_ptr<Bert>, std::unique_ptr<Roberta>,
                 std::unique_ptr<DistilBert>, std::unique_ptr<MPNet>, std::unique_ptr<Deberta>,
                 std::unique_ptr<ModernBert>, std::unique_ptr<MaskedLanguageModel>, std::unique_ptr<SequenceClassifier>,
                 std::unique_ptr<TokenClassifier>, std::unique_ptr<QuestionAnswerer>, std::unique_ptr<Vit>,
                 std::unique_ptr<ImageClassifier>>;

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
/// model of its type, or an encoder or ViT with the head that its tensors are of, or without one; a masked language model's folder with the tensors of its encoder alone is read as that. Names of
/// tensors may lack the prefix of the base model ("model.", "bert."), or have it in a base model. The ends of a
/// decoder-only model are those of generation_config.json where there is one.
/// Transformers that neither of these two can express have the "model_type" "tapeformer-transformer", classifiers that
/// pool the mean, which transformers has no class for, "tapeformer-mean-pooling-classifier". The model is in evaluation
/// mode. Every Error names the file: (io) for one that cannot be read; (format) or (config) with the key for a
/// configuration that is broken, of an unknown architecture, or asks for what is not computed here; (format) with every
/// tensor that does not fit, before a model is made. A folder with adapters in place of a model is read as
/// load_with_adapter() does.
AnyModel load_model(const std::string& folder);

/// The same where the class is known: load<Gpt>("gpt2"), load<CausalLM>(folder) for any decoder-only model,
/// load<EncoderDecoder>(folder) for any with two stacks, load<EncoderModel>(folder) for any encoder without a head.
/// Error (config) where the folder holds another.
template <class M>
std::unique_ptr<M> load(const std::string& folder);

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
void save(const std::string& folder, const Transformer& model, const SaveOptions& options = {});
void save(const std::string& folder, const Bart& model, const SaveOptions& options = {});
void save(const std::string& folder, const T5& model, const SaveOptions& options = {});
void save(const std::string& folder, const EncoderDecoder& model, const SaveOptions& options = {});
void save(const std::string& folder, const Gpt& model, const SaveOptions& options = {});
void save(const std::string& folder, const Llama& model, const SaveOptions& options = {});
void save(const std::string& folder, const GptNeoX& model, const SaveOptions& options = {});
void save(const std::string& folder, const CausalLM& model, const SaveOptions& options = {});
void save(const std::string& folder, const EncoderModel& model, const SaveOptions& options = {});
void save(const std::string& folder, const MaskedLanguageModel& model, const SaveOptions& options = {});
void save(const std::string& folder, const SequenceClassifier& model, const SaveOptions& options = {});
void save(const std::string& folder, const TokenClassifier& model, const SaveOptions& options = {});
void save(const std::string& folder, const QuestionAnswerer& model, const SaveOptions& options = {});
void save(const std::string& folder, const Vit& model, const SaveOptions& options = {});
void save(const std::string& folder, const ImageClassifier& model, const SaveOptions& options = {});
void save(const std::string& folder, const AnyModel& model, const SaveOptions& options = {});

/// Removes the files that any model is saved as, adapters and vectors of texts included, so that none is found beside
/// one that is saved next. Error (io) naming what cannot be removed.
void remove_model(const std::string& folder);

/// How the model's folder names and keeps its tensors.
Layout layout_of(const AnyModel& model);
/// Error (config) for a model that transformers has no class for.
Layout layout_of(const CausalLM& model);
Layout layout_of(const EncoderModel& model);

/// Values or gradients of a model's parameters under the names, and in the shapes, of its folder.
std::map<std::string, Tensor> to_file_names(const AnyModel& model, const nn::StateDict& values);

/// The module inside.
nn::Module& module_of(const AnyModel& model);

}  // namespace tape::models
