#include "text/tokenizers/folder/class_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/path.h"
#include "text/json.h"
#include "text/tokenizers/folder/language_kind.h"

namespace tape::text {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

/// AutoTokenizer's mapping for supported models: classes, without "Tokenizer", and their model types.
constexpr std::array<Pair, 17> kModelsOfClasses{{
    {"Albert", "albert"},
    {"Roberta", "bart roberta"},
    {"Bert", "bert distilbert electra mobilebert"},
    {"Camembert", "camembert"},
    {"Deberta", "deberta"},
    {"DebertaV2", "deberta-v2"},
    {"GPT2", "gpt2"},
    {"GPTNeoX", "gpt_neox"},
    {"M2M100", "m2m_100"},
    {"Marian", "marian"},
    {"MBart", "mbart"},
    {"MPNet", "mpnet"},
    {"T5", "mt5 switch_transformers t5"},
    {"Nllb", "nllb nllb-moe"},
    {"Pegasus", "pegasus"},
    {"Qwen2", "qwen2 qwen3"},
    {"XLMRoberta", "xlm-roberta"},
}};

bool has_word(std::string_view words, std::string_view word) { return std::ranges::count(words_of(words), word) > 0; }

/// Returns null if the folder does not have the file.
nlohmann::json json_in(const std::string& folder, const char* name) {
  const std::string path = file_in_folder(folder, name);
  return path_exists(path) ? parse_large_json(read_text(path), path, 32) : nlohmann::json();
}

/// Returns "" if the key is missing or not a string.
std::string text_of(const nlohmann::json& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_string()) return "";
  return json[key].get<std::string>();
}

/// Classes, without "Tokenizer", and their bos, eos, unk, sep, pad, cls and mask; "-" means none.
constexpr std::array<Pair, 15> kNamesOfClasses{{
    {"Bart Barthez Camembert LED MBart Mvp Nllb PLBart Roberta XLMRoberta", "<s> </s> <unk> </s> <pad> <s> <mask>"},
    {"MPNet", "<s> </s> [UNK] </s> <pad> <s> <mask>"},
    {"MBart50", "- </s> <unk> </s> <pad> <s> <mask>"},
    {"M2M100", "<s> </s> <unk> </s> <pad> - -"},
    {"Bert BertJapanese ConvBert DistilBert Electra LayoutLM Lxmert MobileBert RetriBert RoFormer SqueezeBert "
     "DPRContextEncoder DPRReader DPRQuestionEncoder",
     "- - [UNK] [SEP] [PAD] [CLS] [MASK]"},
    {"Deberta DebertaV2", "[CLS] [SEP] [UNK] [SEP] [PAD] [CLS] [MASK]"},
    {"Albert FNet RemBert", "[CLS] [SEP] <unk> [SEP] <pad> [CLS] [MASK]"},
    {"T5 Marian", "- </s> <unk> - <pad> - -"},
    {"Pegasus", "- </s> <unk> - <pad> - <mask_2>"},
    {"Llama CodeLlama", "<s> </s> <unk> - - - -"},
    {"Gemma", "<bos> <eos> <unk> - <pad> - <mask>"},
    {"Qwen2 Qwen3_5", "- <|endoftext|> <|endoftext|> - <|endoftext|> - -"},
    {"GPT2 Whisper", "<|endoftext|> <|endoftext|> <|endoftext|> - - - -"},
    {"GPTNeoX", "<|endoftext|> <|endoftext|> <|endoftext|> - <|padding|> - -"},
    {"CLIP", "<|startoftext|> <|endoftext|> <|endoftext|> - <|endoftext|> - -"},
}};

}  // namespace

std::string_view strip_fast_suffix(std::string_view tokenizer_class) {
  if (tokenizer_class.ends_with("Fast")) tokenizer_class.remove_suffix(4);
  return tokenizer_class;
}

TokenizerConfig class_names(std::string_view tokenizer_class) {
  TokenizerConfig out;
  std::string_view stem = strip_fast_suffix(tokenizer_class);
  if (!stem.ends_with("Tokenizer")) return out;
  stem.remove_suffix(9);
  for (const auto& [classes, names] : kNamesOfClasses) {
    if (!has_word(classes, stem)) continue;
    const std::vector<std::string> given = words_of(names);
    auto name = given.begin();
    for (std::string* own : {&out.bos, &out.eos, &out.unk, &out.sep, &out.pad, &out.cls, &out.mask})
      if (const std::string& one = *name++; one != "-") *own = one;
  }
  return out;
}

std::string tokenizer_class_of(const std::string& folder) {
  if (std::string name = text_of(json_in(folder, "tokenizer_config.json"), "tokenizer_class"); !name.empty())
    return name;
  const nlohmann::json config = json_in(folder, "config.json");
  if (std::string name = text_of(config, "tokenizer_class"); !name.empty()) return name;
  const std::string type = text_of(config, "model_type");
  for (const auto& [stem, models] : kModelsOfClasses)
    if (has_word(models, type)) return fmt::format("{}Tokenizer", stem);
  return "";
}

}  // namespace tape::text
