#include "text/tokenizers/class_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "text/tokenizers/language_kind.h"

namespace tape::text {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

/// AutoTokenizer's choice, of the models that are read here.
constexpr std::array<Pair, 25> kClassOfModel{{{"albert", "AlbertTokenizer"},
                                              {"bart", "RobertaTokenizer"},
                                              {"bert", "BertTokenizer"},
                                              {"camembert", "CamembertTokenizer"},
                                              {"deberta", "DebertaTokenizer"},
                                              {"deberta-v2", "DebertaV2Tokenizer"},
                                              {"distilbert", "BertTokenizer"},
                                              {"electra", "BertTokenizer"},
                                              {"gpt2", "GPT2Tokenizer"},
                                              {"gpt_neox", "GPTNeoXTokenizer"},
                                              {"m2m_100", "M2M100Tokenizer"},
                                              {"marian", "MarianTokenizer"},
                                              {"mbart", "MBartTokenizer"},
                                              {"mobilebert", "BertTokenizer"},
                                              {"mpnet", "MPNetTokenizer"},
                                              {"mt5", "T5Tokenizer"},
                                              {"nllb", "NllbTokenizer"},
                                              {"nllb-moe", "NllbTokenizer"},
                                              {"pegasus", "PegasusTokenizer"},
                                              {"qwen2", "Qwen2Tokenizer"},
                                              {"qwen3", "Qwen2Tokenizer"},
                                              {"roberta", "RobertaTokenizer"},
                                              {"switch_transformers", "T5Tokenizer"},
                                              {"t5", "T5Tokenizer"},
                                              {"xlm-roberta", "XLMRobertaTokenizer"}}};

/// null where the folder has no such file.
nlohmann::json json_in(const std::string& folder, const char* name) {
  const std::string path = file_in_folder(folder, name);
  return path_exists(path) ? parse_large_json(read_text(path), path, 32) : nlohmann::json();
}

/// "" where the key is missing or no text.
std::string text_of(const nlohmann::json& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_string()) return "";
  return json[key].get<std::string>();
}

/// Classes, without "Tokenizer" at their ends, and their bos, eos, unk, sep, pad, cls and mask; "-" stands for none.
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

std::string_view without_fast(std::string_view tokenizer_class) {
  if (tokenizer_class.ends_with("Fast")) tokenizer_class.remove_suffix(4);
  return tokenizer_class;
}

TokenizerConfig class_names(std::string_view tokenizer_class) {
  TokenizerConfig out;
  for (const auto& [classes, names] : kNamesOfClasses) {
    const std::vector<std::string> stems = words_of(classes);
    const auto is = [&](const std::string& stem) {
      return fmt::format("{}Tokenizer", stem) == without_fast(tokenizer_class);
    };
    if (std::ranges::none_of(stems, is)) continue;
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
  const auto found = std::ranges::find(kClassOfModel, type, &Pair::first);
  return found == kClassOfModel.end() ? "" : std::string(found->second);
}

}  // namespace tape::text
