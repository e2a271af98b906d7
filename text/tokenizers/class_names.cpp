#include "text/tokenizers/class_names.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/path.h"

namespace tape::text {
namespace {

struct Names {
  std::initializer_list<std::string_view> classes;
  const char *bos, *eos, *unk, *sep, *pad, *cls, *mask;
};

TokenizerConfig config_of(const Names& names) {
  TokenizerConfig out;
  out.bos = names.bos;
  out.eos = names.eos;
  out.unk = names.unk;
  out.sep = names.sep;
  out.pad = names.pad;
  out.cls = names.cls;
  out.mask = names.mask;
  return out;
}

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

}  // namespace

TokenizerConfig class_names(std::string_view tokenizer_class) {
  if (tokenizer_class.ends_with("Fast")) tokenizer_class.remove_suffix(4);
  const auto is = [tokenizer_class](const Names& names) {
    return std::find(names.classes.begin(), names.classes.end(), tokenizer_class) != names.classes.end();
  };
  const char *no = "", *end = "<|endoftext|>";
  for (const Names& names :
       {Names{{"BartTokenizer", "BarthezTokenizer", "CamembertTokenizer", "LEDTokenizer", "MBartTokenizer",
               "MvpTokenizer", "NllbTokenizer", "PLBartTokenizer", "RobertaTokenizer", "XLMRobertaTokenizer"},
              "<s>",
              "</s>",
              "<unk>",
              "</s>",
              "<pad>",
              "<s>",
              "<mask>"},
        Names{{"MPNetTokenizer"}, "<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"},
        Names{{"MBart50Tokenizer"}, no, "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"},
        Names{{"M2M100Tokenizer"}, "<s>", "</s>", "<unk>", "</s>", "<pad>", no, no},
        Names{
            {"BertTokenizer", "BertJapaneseTokenizer", "ConvBertTokenizer", "DistilBertTokenizer", "ElectraTokenizer",
             "LayoutLMTokenizer", "LxmertTokenizer", "MobileBertTokenizer", "RetriBertTokenizer", "RoFormerTokenizer",
             "SqueezeBertTokenizer", "DPRContextEncoderTokenizer", "DPRReaderTokenizer", "DPRQuestionEncoderTokenizer"},
            no,
            no,
            "[UNK]",
            "[SEP]",
            "[PAD]",
            "[CLS]",
            "[MASK]"},
        Names{
            {"DebertaTokenizer", "DebertaV2Tokenizer"}, "[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"},
        Names{{"AlbertTokenizer", "FNetTokenizer", "RemBertTokenizer"},
              "[CLS]",
              "[SEP]",
              "<unk>",
              "[SEP]",
              "<pad>",
              "[CLS]",
              "[MASK]"},
        Names{{"T5Tokenizer", "MarianTokenizer"}, no, "</s>", "<unk>", no, "<pad>", no, no},
        Names{{"PegasusTokenizer"}, no, "</s>", "<unk>", no, "<pad>", no, "<mask_2>"},
        Names{{"LlamaTokenizer", "CodeLlamaTokenizer"}, "<s>", "</s>", "<unk>", no, no, no, no},
        Names{{"GemmaTokenizer"}, "<bos>", "<eos>", "<unk>", no, "<pad>", no, "<mask>"},
        Names{{"Qwen2Tokenizer", "Qwen3_5Tokenizer"}, no, end, end, no, end, no, no},
        Names{{"GPT2Tokenizer", "WhisperTokenizer"}, end, end, end, no, no, no, no},
        Names{{"GPTNeoXTokenizer"}, end, end, end, no, "<|padding|>", no, no},
        Names{{"CLIPTokenizer"}, "<|startoftext|>", end, end, no, end, no, no}})
    if (is(names)) return config_of(names);
  return {};
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
