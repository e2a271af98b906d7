#include "models/folder.h"

#include "base/file.h"
#include "base/path.h"
#include "models/adapter_folder.h"
#include "models/decoder_folder.h"
#include "models/encoder_decoder_folder.h"
#include "models/encoder_folder.h"
#include "models/folder_loading.h"
#include "models/hugging_face/bart.h"
#include "models/hugging_face/encoders.h"
#include "models/hugging_face/generation.h"
#include "models/hugging_face/gpt2.h"
#include "models/hugging_face/gpt_neox.h"
#include "models/hugging_face/llama_family.h"
#include "models/hugging_face/marian.h"
#include "models/hugging_face/t5.h"
#include "models/hugging_face/vit.h"
#include "models/transformer_json.h"
#include "models/weights.h"

namespace tape::models {
namespace {

namespace hf = hugging_face;

constexpr const char* kConfig = "config.json";
constexpr const char* kVitPrefix = "vit.";

bool for_transformers(const TransformerConfig& c) { return hf::is_marian(c) || hf::is_m2m100(c); }

Layout layout_of(const Transformer& m) {
  return for_transformers(m.config()) ? hf::marian_layout(m.config()) : transformer_layout(m.config());
}
Layout layout_of(const Bart& m) { return hf::bart_layout(m.config()); }
Layout layout_of(const T5& m) { return hf::t5_layout(m.config()); }
Layout layout_of(const Gpt& m) { return hf::gpt_layout(m.config()); }
Layout layout_of(const Llama& m) { return hf::llama_layout(m.config()); }
Layout layout_of(const GptNeoX& m) { return hf::gpt_neox_layout(m.config()); }
Layout layout_of(const MaskedLanguageModel& m) { return hf::masked_language_model_layout(m.config()); }
Layout layout_of(const SequenceClassifier& m) { return hf::sequence_classifier_layout(m.config()); }
Layout layout_of(const TokenClassifier& m) { return hf::token_classifier_layout(m.config()); }
Layout layout_of(const QuestionAnswerer& m) { return hf::question_answerer_layout(m.config()); }
Layout layout_of(const Vit& m) { return hf::vit_layout(m.config()); }
Layout layout_of(const ImageClassifier& m) { return hf::image_classifier_layout(m.config()); }

/// The weights, then files of text by name, in their order.
template <class M>
void save_as(const std::string& folder, const M& model, const std::vector<std::pair<std::string, std::string>>& texts,
             const SaveOptions& options) {
  make_folder(folder);
  write_weights(folder, layout_of(model).to_file(model.state_dict()), options.max_shard_bytes);
  for (const auto& [name, text] : texts) {
    const std::string_view parts[] = {text};
    write_file(fmt::format("{}/{}", folder, name), parts);
  }
}

/// Calls use(model) with the model as the class it is of; `what` begins the Error where it is of none.
template <class Use>
auto with_class(const CausalLM& model, const std::string& what, Use&& use) {
  if (const auto* gpt = dynamic_cast<const Gpt*>(&model)) return use(*gpt);
  if (const auto* llama = dynamic_cast<const Llama*>(&model)) return use(*llama);
  if (const auto* neox = dynamic_cast<const GptNeoX*>(&model)) return use(*neox);
  raise(ErrorKind::config, "{}: transformers has no class for a CausalLM of other layers", what);
}

template <class Use>
auto with_class(const EncoderDecoder& model, const std::string& what, Use&& use) {
  if (const auto* transformer = dynamic_cast<const Transformer*>(&model)) return use(*transformer);
  if (const auto* bart = dynamic_cast<const Bart*>(&model)) return use(*bart);
  if (const auto* t5 = dynamic_cast<const T5*>(&model)) return use(*t5);
  raise(ErrorKind::config, "{}: transformers has no class for an EncoderDecoder of other layers", what);
}

DType dtype_of_parameters(const nn::Module& model) { return model.parameters().front().dtype(); }

template <class M>
void save_for_transformers(const std::string& folder, const M& model, const SaveOptions& options) {
  std::vector<std::pair<std::string, std::string>> texts;
  nlohmann::ordered_json config = hf::config_json(model, dtype_of_parameters(model));
  if constexpr (std::derived_from<M, EncoderDecoder>) {
    const TargetStart start = options.target_start.value_or(target_start(model));
    hf::write_target_start(config, start);
    texts.emplace_back(hf::kGenerationConfig, hf::generation_config_json(model, start));
  }
  if constexpr (std::derived_from<M, CausalLM>)
    texts.emplace_back(hf::kGenerationConfig, hf::generation_config_json(model));
  texts.emplace_back(kConfig, fmt::format("{}\n", config.dump(2)));
  save_as(folder, model, texts, options);
}

AnyModel load_vit(const std::string& file, const ConfigReader& config, Weights weights) {
  VitConfig c = hf::read_vit_config(config);
  check_layers(file, c.layers, weights);
  weights.tensors = without_prefix(std::move(weights.tensors), kVitPrefix);
  c.pooler = weights.tensors.contains("pooler.dense.weight");
  return filled<Vit>(file, c, weights, [&] { return hf::vit_layout(c); });
}

AnyModel load_image_classifier(const std::string& file, const ConfigReader& config, const Weights& weights) {
  const ImageClassifierConfig c = hf::read_image_classifier_config(config);
  check_layers(file, c.vit.layers, weights);
  return filled<ImageClassifier>(
      file, c, weights, [&] { return hf::image_classifier_layout(c); }, kVitPrefix);
}

/// The class that a configuration without "architectures" is of; of a ViT the tensors tell.
std::string class_of_type(const std::string& model_type) {
  static const auto& classes =
      *new const std::map<std::string, std::string>{{"gpt2", "GPT2LMHeadModel"},
                                                    {"llama", "LlamaForCausalLM"},
                                                    {"mistral", "MistralForCausalLM"},
                                                    {"qwen2", "Qwen2ForCausalLM"},
                                                    {"qwen3", "Qwen3ForCausalLM"},
                                                    {"gpt_neox", "GPTNeoXForCausalLM"},
                                                    {"marian", "MarianMTModel"},
                                                    {"m2m_100", "M2M100ForConditionalGeneration"},
                                                    {"bart", "BartForConditionalGeneration"},
                                                    {"mbart", "MBartForConditionalGeneration"},
                                                    {"t5", "T5ForConditionalGeneration"},
                                                    {"mt5", "MT5ForConditionalGeneration"}};
  const auto found = classes.find(model_type);
  return found == classes.end() ? "" : found->second;
}

}  // namespace

AnyModel load_model(const std::string& folder) {
  if (is_adapter_folder(folder)) return load_with_adapter(folder);
  const std::string file = file_in_folder(folder, "config.json");
  const std::string text = read_text(file);
  const ConfigReader config(text, file);
  // The configuration first, then the weights: the smaller file's fault is named before the larger one is read.
  if (config.text("model_type", "") == kOwnModelType) return load_own_transformer(folder, file, text);
  const std::vector<std::string> names = config.names("architectures");
  const std::string name = names.empty() ? class_of_type(config.text("model_type", "")) : names.front();
  if (auto model = load_decoder(folder, config, name)) return std::move(*model);
  if (auto model = load_encoder_decoder(folder, config, name)) return std::move(*model);
  if (const auto encoder = hf::encoder_architecture(config)) return load_encoder(folder, config, *encoder);
  const bool vit = names.empty() && config.text("model_type", "") == "vit";
  if (vit || name == "ViTModel" || name == "ViTForImageClassification") {
    // The smaller file's fault first.
    if (name == "ViTForImageClassification")
      hf::read_image_classifier_config(config);
    else
      hf::read_vit_config(config);
    const Weights weights = read_weights(folder);
    const bool classifies = vit ? weights.tensors.contains("classifier.weight") : name != "ViTModel";
    return classifies ? load_image_classifier(file, config, weights) : load_vit(file, config, weights);
  }
  raise(ErrorKind::config,
        "{}: {} is not supported; {}; GPT2LMHeadModel, LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, "
        "Qwen3ForCausalLM, GPTNeoXForCausalLM, MarianMTModel, M2M100ForConditionalGeneration, "
        "BartForConditionalGeneration, MBartForConditionalGeneration, T5ForConditionalGeneration, "
        "MT5ForConditionalGeneration, ViTModel, ViTForImageClassification and \"model_type\" \"{}\" are",
        file,
        names.empty() ? fmt::format("\"model_type\" \"{}\" without \"architectures\"", config.text("model_type", ""))
                      : fmt::format("architecture \"{}\"", name),
        hf::encoder_architectures(), kOwnModelType);
}

/// What a folder of the class is called, ours and transformers'.
template <class M>
constexpr const char* kNeeded = nullptr;
template <>
constexpr const char* kNeeded<Transformer> = "a Transformer (Marian, M2M100)";
template <>
constexpr const char* kNeeded<Bart> = "a Bart (BART, mBART)";
template <>
constexpr const char* kNeeded<T5> = "a T5 (T5, mT5)";
template <>
constexpr const char* kNeeded<EncoderDecoder> = "an encoder-decoder model (Marian, M2M100, BART, mBART, T5, mT5)";
template <>
constexpr const char* kNeeded<Gpt> = "a Gpt (GPT-2)";
template <>
constexpr const char* kNeeded<Llama> = "a Llama (Llama, Mistral, Qwen2, Qwen3)";
template <>
constexpr const char* kNeeded<GptNeoX> = "a GptNeoX (GPT-NeoX, Pythia)";
template <>
constexpr const char* kNeeded<CausalLM> = "a decoder-only model (GPT-2, Llama, Mistral, Qwen2, Qwen3, GPT-NeoX)";
template <>
constexpr const char* kNeeded<Bert> = "a Bert without a head";
template <>
constexpr const char* kNeeded<Roberta> = "a Roberta without a head (RoBERTa, XLM-R)";
template <>
constexpr const char* kNeeded<DistilBert> = "a DistilBert without a head";
template <>
constexpr const char* kNeeded<MPNet> = "an MPNet without a head";
template <>
constexpr const char* kNeeded<Deberta> = "a Deberta (version 2 or 3) without a head";
template <>
constexpr const char* kNeeded<ModernBert> = "a ModernBert without a head";
template <>
constexpr const char* kNeeded<EncoderModel> =
    "an encoder without a head (BERT, RoBERTa, XLM-R, DistilBERT, MPNet, DeBERTa, ModernBERT)";
template <>
constexpr const char* kNeeded<MaskedLanguageModel> = "a MaskedLanguageModel (BertForMaskedLM and its kin)";
template <>
constexpr const char* kNeeded<SequenceClassifier> = "a SequenceClassifier (BertForSequenceClassification and its kin)";
template <>
constexpr const char* kNeeded<TokenClassifier> = "a TokenClassifier (BertForTokenClassification and its kin)";
template <>
constexpr const char* kNeeded<QuestionAnswerer> = "a QuestionAnswerer (BertForQuestionAnswering and its kin)";
template <>
constexpr const char* kNeeded<Vit> = "a Vit without a head";
template <>
constexpr const char* kNeeded<ImageClassifier> = "an ImageClassifier (ViTForImageClassification)";

template <class M>
std::unique_ptr<M> load(const std::string& folder) {
  AnyModel model = load_model(folder);
  std::unique_ptr<M> found;
  std::visit(
      [&found]<class Held>(std::unique_ptr<Held>& held) {
        if constexpr (std::derived_from<Held, M>) found = std::move(held);
      },
      model);
  if (found) return found;
  raise(ErrorKind::config, "{}/config.json: holds a {}, needed here is {}", folder, module_of(model).type_name(),
        kNeeded<M>);
}
template std::unique_ptr<Transformer> load<Transformer>(const std::string&);
template std::unique_ptr<Bart> load<Bart>(const std::string&);
template std::unique_ptr<T5> load<T5>(const std::string&);
template std::unique_ptr<EncoderDecoder> load<EncoderDecoder>(const std::string&);
template std::unique_ptr<Gpt> load<Gpt>(const std::string&);
template std::unique_ptr<Llama> load<Llama>(const std::string&);
template std::unique_ptr<GptNeoX> load<GptNeoX>(const std::string&);
template std::unique_ptr<CausalLM> load<CausalLM>(const std::string&);
template std::unique_ptr<Bert> load<Bert>(const std::string&);
template std::unique_ptr<Roberta> load<Roberta>(const std::string&);
template std::unique_ptr<DistilBert> load<DistilBert>(const std::string&);
template std::unique_ptr<MPNet> load<MPNet>(const std::string&);
template std::unique_ptr<Deberta> load<Deberta>(const std::string&);
template std::unique_ptr<ModernBert> load<ModernBert>(const std::string&);
template std::unique_ptr<EncoderModel> load<EncoderModel>(const std::string&);
template std::unique_ptr<MaskedLanguageModel> load<MaskedLanguageModel>(const std::string&);
template std::unique_ptr<SequenceClassifier> load<SequenceClassifier>(const std::string&);
template std::unique_ptr<TokenClassifier> load<TokenClassifier>(const std::string&);
template std::unique_ptr<QuestionAnswerer> load<QuestionAnswerer>(const std::string&);
template std::unique_ptr<Vit> load<Vit>(const std::string&);
template std::unique_ptr<ImageClassifier> load<ImageClassifier>(const std::string&);

void save(const std::string& folder, const Transformer& model, const SaveOptions& options) {
  if (for_transformers(model.config()))
    save_for_transformers(folder, model, options);
  else
    save_as(folder, model, {{kConfig, to_json(model.config())}}, options);
}
void save(const std::string& folder, const Bart& model, const SaveOptions& options) {
  save_for_transformers(folder, model, options);
}
void save(const std::string& folder, const T5& model, const SaveOptions& options) {
  save_for_transformers(folder, model, options);
}
void save(const std::string& folder, const EncoderDecoder& model, const SaveOptions& options) {
  with_class(model, folder, [&](const auto& m) { save(folder, m, options); });
}
void save(const std::string& folder, const Gpt& model, const SaveOptions& options) {
  save_for_transformers(folder, model, options);
}
void save(const std::string& folder, const Llama& model, const SaveOptions& options) {
  save_for_transformers(folder, model, options);
}
void save(const std::string& folder, const GptNeoX& model, const SaveOptions& options) {
  save_for_transformers(folder, model, options);
}
void save(const std::string& folder, const CausalLM& model, const SaveOptions& options) {
  with_class(model, folder, [&](const auto& m) { save(folder, m, options); });
}
void save(const std::string& folder, const EncoderModel& model, const SaveOptions& options) {
  save_for_transformers(folder, model, options);
}
void save(const std::string& folder, const MaskedLanguageModel& model, const SaveOptions& options) {
  save_for_transformers(folder, model, options);
}
void save(const std::string& folder, const SequenceClassifier& model, const SaveOptions& options) {
  save_for_transformers(folder, model, options);
}
void save(const std::string& folder, const TokenClassifier& model, const SaveOptions& options) {
  save_for_transformers(folder, model, options);
}
void save(const std::string& folder, const QuestionAnswerer& model, const SaveOptions& options) {
  save_for_transformers(folder, model, options);
}
void save(const std::string& folder, const Vit& model, const SaveOptions& options) {
  save_for_transformers(folder, model, options);
}
void save(const std::string& folder, const ImageClassifier& model, const SaveOptions& options) {
  save_for_transformers(folder, model, options);
}
void save(const std::string& folder, const AnyModel& model, const SaveOptions& options) {
  std::visit([&](const auto& m) { save(folder, *m, options); }, model);
}

Layout layout_of(const CausalLM& model) {
  return with_class(model, "layout_of", [](const auto& m) { return layout_of(m); });
}

Layout layout_of(const EncoderModel& model) { return hf::encoder_layout(config_of(model)); }

Layout layout_of(const AnyModel& model) {
  return std::visit([](const auto& m) { return layout_of(*m); }, model);
}

std::map<std::string, Tensor> to_file_names(const AnyModel& model, const nn::StateDict& values) {
  return layout_of(model).to_file(values);
}

nn::Module& module_of(const AnyModel& model) {
  return std::visit([](const auto& m) -> nn::Module& { return *m; }, model);
}

}  // namespace tape::models
