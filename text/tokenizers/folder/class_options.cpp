#include "text/tokenizers/folder/class_options.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tape::text {
namespace {

using Json = nlohmann::json;

/// The options that a class takes from tokenizer_config.json.
enum class ReplacedOptions : std::uint8_t { none, bert, byte_level, llama, words, albert, deberta };

struct TokenizerClass {
  std::string_view name;  ///< without "Tokenizer"
  VocabularyFiles files;
  ReplacedOptions options;
};

constexpr std::array<TokenizerClass, 24> kTokenizerClasses{{
    {"Bert", VocabularyFiles::word_piece, ReplacedOptions::bert},
    {"ConvBert", VocabularyFiles::word_piece, ReplacedOptions::bert},
    {"DistilBert", VocabularyFiles::word_piece, ReplacedOptions::bert},
    {"Electra", VocabularyFiles::word_piece, ReplacedOptions::bert},
    {"LayoutLM", VocabularyFiles::word_piece, ReplacedOptions::bert},
    {"Lxmert", VocabularyFiles::word_piece, ReplacedOptions::bert},
    {"MobileBert", VocabularyFiles::word_piece, ReplacedOptions::bert},
    {"SqueezeBert", VocabularyFiles::word_piece, ReplacedOptions::bert},
    {"DPRContextEncoder", VocabularyFiles::word_piece, ReplacedOptions::none},
    {"DPRQuestionEncoder", VocabularyFiles::word_piece, ReplacedOptions::none},
    {"DPRReader", VocabularyFiles::word_piece, ReplacedOptions::none},
    {"RetriBert", VocabularyFiles::word_piece, ReplacedOptions::none},
    {"Funnel", VocabularyFiles::none, ReplacedOptions::bert},
    {"MPNet", VocabularyFiles::none, ReplacedOptions::bert},
    {"Bart", VocabularyFiles::byte_level_bpe, ReplacedOptions::byte_level},
    {"GPT2", VocabularyFiles::byte_level_bpe, ReplacedOptions::byte_level},
    {"Roberta", VocabularyFiles::byte_level_bpe, ReplacedOptions::byte_level},
    {"Deberta", VocabularyFiles::none, ReplacedOptions::byte_level},
    {"GPTNeoX", VocabularyFiles::none, ReplacedOptions::byte_level},
    {"Llama", VocabularyFiles::none, ReplacedOptions::llama},
    {"Camembert", VocabularyFiles::none, ReplacedOptions::words},
    {"XLMRoberta", VocabularyFiles::none, ReplacedOptions::words},
    {"Albert", VocabularyFiles::none, ReplacedOptions::albert},
    {"DebertaV2", VocabularyFiles::none, ReplacedOptions::deberta},
}};

const TokenizerClass* find_class(std::string_view tokenizer_class) {
  constexpr std::string_view kEnd = "Tokenizer";
  if (!tokenizer_class.ends_with(kEnd)) return nullptr;
  tokenizer_class.remove_suffix(kEnd.size());
  const auto found = std::ranges::find(kTokenizerClasses, tokenizer_class, &TokenizerClass::name);
  return found == kTokenizerClasses.end() ? nullptr : &*found;
}

bool has_type(const Json& step, std::string_view type) {
  return step.is_object() && step.contains("type") && step["type"] == type;
}

Json make_step(const char* type, Json::object_t options = {}) {
  options["type"] = type;
  return options;
}

/// One part of the file: a step or a sequence of them.
class PipelinePart {
 public:
  PipelinePart(Json& file, const char* name, const char* list) : list_(list) {
    if (const auto found = file.find(name); found != file.end()) part_ = &*found;
  }

  /// The steps of a type.
  std::vector<Json*> steps(std::string_view type) {
    std::vector<Json*> found;
    if (part_ && has_type(*part_, type)) found.push_back(part_);
    if (Json* const all = sequence())
      for (Json& step : *all)
        if (has_type(step, type)) found.push_back(&step);
    return found;
  }
  void set(std::string_view type, const char* key, const Json& value) {
    for (Json* step : steps(type)) (*step)[key] = value;
  }
  /// Removes the steps of this step's type from a sequence, or inserts the step before the first that is not of one of
  /// the types in `after`.
  void choose(bool present, const Json& step, std::initializer_list<std::string_view> after = {}) {
    Json* const all = sequence();
    if (!all || present == !steps(step["type"].get<std::string>()).empty()) return;
    if (present) {
      const auto place = std::ranges::find_if(*all, [&](const Json& one) {
        return std::ranges::none_of(after, [&](std::string_view type) { return has_type(one, type); });
      });
      all->insert(place, step);
    } else {
      std::erase_if(all->get_ref<Json::array_t&>(),
                    [&](const Json& one) { return has_type(one, step["type"].get<std::string>()); });
    }
  }
  void append(const Json& step) {
    if (Json* const all = sequence()) all->push_back(step);
  }

 private:
  /// The list of a sequence, or null.
  Json* sequence() {
    if (!part_ || !has_type(*part_, "Sequence")) return nullptr;
    const auto found = part_->find(list_);
    return found != part_->end() && found->is_array() ? &*found : nullptr;
  }

  const char* list_;
  Json* part_ = nullptr;
};

struct PipelineParts {
  explicit PipelineParts(Json& file)
      : normalizer(file, "normalizer", "normalizers"),
        pre_tokenizer(file, "pre_tokenizer", "pretokenizers"),
        decoder(file, "decoder", "decoders") {}

  PipelinePart normalizer, pre_tokenizer, decoder;
};

void set_prepend(PipelineParts& parts, const char* scheme) {
  parts.pre_tokenizer.set("Metaspace", "prepend_scheme", scheme);
  parts.decoder.set("Metaspace", "prepend_scheme", scheme);
}

void replace_bert(PipelineParts& parts, const TokenizerConfig& c) {
  const auto set = [&](const char* key, std::optional<bool> value) {
    if (value) parts.normalizer.set("BertNormalizer", key, *value);
  };
  set("lowercase", c.do_lower_case);
  set("strip_accents", c.strip_accents);
  set("handle_chinese_chars", c.tokenize_chinese_chars);
}

/// Files of transformers 4 have a normalizer instead of the Metaspace, which splits as the authors' library does.
void replace_llama(PipelineParts& parts, const TokenizerConfig& c) {
  if (parts.pre_tokenizer.steps("Metaspace").empty() || !(c.add_prefix_space || c.legacy)) return;
  const bool prefix = c.add_prefix_space.value_or(true);
  set_prepend(parts, !prefix ? "never" : c.legacy.value_or(false) ? "always" : "first");
  const Json strip = make_step("Strip", {{"content", " "}, {"start", 1}, {"stop", 0}});
  if (!prefix)
    parts.decoder.choose(false, strip);
  else if (parts.decoder.steps("Strip").empty())
    parts.decoder.append(strip);
}

void replace_albert(PipelineParts& parts, const TokenizerConfig& c) {
  if (c.keep_accents) {
    parts.normalizer.choose(!*c.keep_accents, make_step("NFKD"), {"Replace"});
    parts.normalizer.choose(!*c.keep_accents, make_step("StripAccents"), {"Replace", "NFKD"});
  }
  if (c.do_lower_case)
    parts.normalizer.choose(*c.do_lower_case, make_step("Lowercase"), {"Replace", "NFKD", "StripAccents"});
}

}  // namespace

VocabularyFiles vocabulary_files_of(std::string_view tokenizer_class) {
  const TokenizerClass* const found = find_class(tokenizer_class);
  return found ? found->files : VocabularyFiles::none;
}

bool replace_options(Json& file, std::string_view tokenizer_class, const TokenizerConfig& c) {
  const TokenizerClass* const found = find_class(tokenizer_class);
  if (!found || found->options == ReplacedOptions::none) return false;
  constexpr std::array<const char*, 3> kParts{"normalizer", "pre_tokenizer", "decoder"};
  const auto copies = [&] {
    std::vector<Json> all;
    for (const char* name : kParts) all.push_back(file.contains(name) ? file[name] : Json());
    return all;
  };
  const std::vector<Json> before = copies();
  PipelineParts parts(file);
  const bool words = found->options == ReplacedOptions::words || found->options == ReplacedOptions::albert;
  if (words && c.add_prefix_space) set_prepend(parts, *c.add_prefix_space ? "always" : "never");
  switch (found->options) {
    case ReplacedOptions::bert:
      replace_bert(parts, c);
      break;
    case ReplacedOptions::byte_level:
      if (c.add_prefix_space) parts.pre_tokenizer.set("ByteLevel", "add_prefix_space", *c.add_prefix_space);
      break;
    case ReplacedOptions::llama:
      replace_llama(parts, c);
      break;
    case ReplacedOptions::albert:
      replace_albert(parts, c);
      break;
    case ReplacedOptions::deberta:
      if (c.do_lower_case) parts.normalizer.choose(*c.do_lower_case, make_step("Lowercase"));
      if (c.add_prefix_space) set_prepend(parts, *c.add_prefix_space ? "always" : "first");
      if (c.split_by_punct)
        parts.pre_tokenizer.choose(*c.split_by_punct, make_step("Punctuation", {{"behavior", "Isolated"}}));
      break;
    default:
      break;
  }
  return copies() != before;
}

}  // namespace tape::text
