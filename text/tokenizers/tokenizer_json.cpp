#include "text/tokenizers/tokenizer_json.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/path.h"
#include "base/utf8.h"
#include "text/json.h"
#include "text/tokenizers/folder/class_names.h"
#include "text/tokenizers/folder/class_options.h"
#include "text/tokenizers/steps/json_parts.h"

namespace tape::text {
namespace {

std::vector<AddedToken> read_added_list(const JsonEntry& file) {
  std::vector<AddedToken> out;
  if (!file.has("added_tokens")) return out;
  for (const JsonEntry& entry : file.at("added_tokens").items()) {
    out.push_back(read_added_token(entry));
    out.back().id = entry.at("id").integer();
  }
  return out;
}

/// The model's tokens, then those that occur only in "added_tokens" and the configuration.
std::unique_ptr<const TokenTable> make_token_table(TokenTable::Entries vocabulary, const std::vector<AddedToken>& added,
                                                   const TokenizerConfig& config, const std::string& where) {
  const size_t own_size = vocabulary.size();
  const auto beside = [&](const TokenTable::Own& own) {
    TokenTable::Entries more;
    std::unordered_map<std::string, int64_t> ids;  // ids of the added tokens
    for (const AddedToken& token : added) {
      std::optional<int64_t> known = own(token.content);
      if (!known) {
        const auto [found, fresh] = ids.try_emplace(token.content, token.id);
        if (fresh) more.emplace_back(token.content, token.id);
        known = found->second;
      }
      if (*known != token.id)
        raise(ErrorKind::format, "{}: added_tokens: \"{}\" has id {}, in the vocabulary {}", where,
              clipped(token.content, 40), token.id, *known);
    }
    const auto is_known = [&](const std::string& name) { return own(name) || ids.contains(name); };
    auto next = static_cast<int64_t>(own_size);
    for (const AddedToken& token : added) next = std::max(next, token.id + 1);
    for (auto& entry : missing_tokens(tokens_to_add(config, added), next, is_known)) more.push_back(std::move(entry));
    return more;
  };
  return std::make_unique<const TokenTable>(std::move(vocabulary), beside, where);
}

TrimOffsets trim_of(const JsonEntry& post) {
  if (post.is_null()) return TrimOffsets::no;
  const std::string type = post.at("type").text();
  if (type == "ByteLevel" || type == "RobertaProcessing") {
    if (!post.flag("trim_offsets", true)) return TrimOffsets::no;
    return post.flag("add_prefix_space", true) ? TrimOffsets::all_but_prefix : TrimOffsets::all;
  }
  if (type == "Sequence")
    for (const JsonEntry& step : post.at("processors").items())
      if (const TrimOffsets trim = trim_of(step); trim != TrimOffsets::no) return trim;
  return TrimOffsets::no;
}

/// Default names of the folder's class as far as the file has these tokens, and the token used for its padding.
TokenizerConfig default_names(const std::string& folder, const JsonEntry& file, const JsonModel& model) {
  const std::string name_of_class = tokenizer_class_of(folder);
  TokenizerConfig names = class_names(name_of_class);
  if (names.pad.empty() && file.has("padding")) names.pad = file.at("padding").text("pad_token", "");
  std::unordered_set<std::string> added;
  for (const AddedToken& token : read_added_list(file)) added.insert(token.content);
  for (std::string TokenizerConfig::*name :
       {&TokenizerConfig::bos, &TokenizerConfig::eos, &TokenizerConfig::unk, &TokenizerConfig::sep,
        &TokenizerConfig::pad, &TokenizerConfig::cls, &TokenizerConfig::mask})
    if (!added.contains(names.*name) && !model.knows(names.*name)) (names.*name).clear();
  const LanguageKind* kind = language_kind_of(name_of_class);
  names.tokenizer_class = kind != nullptr && !kind->source.empty() ? name_of_class : "PreTrainedTokenizerFast";
  return names;
}

/// The model's unknown token needs an id, whether in the vocabulary or not.
TokenizerConfig with_unknown(TokenizerConfig config, const JsonModel& model) {
  if (config.unk.empty()) config.unk = model.unk_token();
  return config;
}

JsonEntry optional(const JsonEntry& file, const char* key) {
  static const auto& none = *new const nlohmann::json;
  return file.has(key) ? file.at(key) : JsonEntry(none, file.where());
}

}  // namespace

TokenizerJson::TokenizerJson(const JsonEntry& file, JsonModel model, TokenizerConfig config, std::string content)
    : LanguagePipeline([&] {
        bool bytes = model.takes_bytes();
        Parts parts;
        parts.listed = read_added_list(file);
        parts.table =
            make_token_table(model.take_vocabulary(), parts.listed, with_unknown(config, model), file.where());
        parts.normalizer = json_normalizer(optional(file, "normalizer"));
        parts.pre_tokenizer = json_pre_tokenizer(optional(file, "pre_tokenizer"), bytes);
        parts.model = model.make(*parts.table, bytes);
        parts.decoder = json_decoder(optional(file, "decoder"));
        parts.trim = trim_of(optional(file, "post_processor"));
        parts.clean_up = !model.is_bpe() && config.clean_up_tokenization_spaces.value_or(false);
        parts.config = std::move(config);
        return parts;
      }()),
      content_(std::move(content)) {
  // The model's unknown token counts as unknown even if it is not a special token.
  if (const auto unk = find(model.unk_token()); special_.unk < 0 && unk) special_.unk = *unk;
  read_template(optional(file, "post_processor"));
}

Tokenizer::Part TokenizerJson::special_part(const JsonEntry& entry) const {
  const std::vector<JsonEntry> parts = entry.items();
  if (parts.size() != 2) entry.needs("a token and its id");
  const int64_t id = parts[1].integer();
  if (id < 0 || id >= vocab_size()) parts[1].fail(fmt::format("id {} is not in 0..{}", id, vocab_size() - 1));
  return {Part::Kind::special, id, 0};
}

void TokenizerJson::read_template(const JsonEntry& entry) {
  if (entry.is_null()) return;
  const auto joined = [](const std::vector<PartList>& encodings) {
    PartList out;
    for (const PartList& encoding : encodings) out.insert(out.end(), encoding.begin(), encoding.end());
    return out;
  };
  template_.single = joined(processed(entry, {{{Part::Kind::first}}}));
  template_.pair = joined(processed(entry, {{{Part::Kind::first}}, {{Part::Kind::second, 0, 1}}}));
}

/// Applies a post-processor to encodings: of one or two texts, or the output of another post-processor.
std::vector<TokenizerJson::PartList> TokenizerJson::processed(const JsonEntry& entry,
                                                              std::vector<PartList> encodings) const {
  const std::string type = entry.at("type").text();
  if (type == "ByteLevel") return encodings;
  if (type == "TemplateProcessing") return from_template(entry, encodings);
  if (type == "Sequence") {
    for (const JsonEntry& step : entry.at("processors").items()) encodings = processed(step, std::move(encodings));
    return encodings;
  }
  const bool bert = type == "BertProcessing";
  if (!bert && type != "RobertaProcessing") entry.fail(fmt::format("type \"{}\" is not supported", type));
  const Part cls = special_part(entry.at("cls")), sep = special_part(entry.at("sep"));
  for (size_t i = 0; i < encodings.size(); ++i) {
    PartList& parts = encodings[i];
    if (!bert)
      for (Part& part : parts) part.type_id = 0;
    if (i == 0 || !bert) parts.insert(parts.begin(), i == 0 ? cls : sep);
    parts.push_back({sep.kind, sep.id, bert && i > 0 ? 1 : 0});
  }
  return encodings;
}

std::vector<TokenizerJson::PartList> TokenizerJson::from_template(const JsonEntry& entry,
                                                                  const std::vector<PartList>& encodings) const {
  if (encodings.size() > 2)
    entry.fail("a template must be applied to one or two texts, not to the output of another template");
  const JsonEntry list = entry.at(encodings.size() == 1 ? "single" : "pair"), names = entry.at("special_tokens");
  std::vector<PartList> out;
  std::array<int, 2> held{};
  for (const JsonEntry& part : list.items()) {
    if (part.has("Sequence")) {
      const JsonEntry sequence = part.at("Sequence");
      const std::string id = sequence.at("id").text();
      if (id != "A" && (id != "B" || encodings.size() == 1))
        sequence.at("id").needs(encodings.size() == 1 ? "A" : "A or B");
      const size_t which = id == "A" ? 0 : 1;
      ++held[which];
      out.push_back(encodings[which]);
      for (Part& inner : out.back()) inner.type_id = sequence.integer("type_id", 0);
      continue;
    }
    const JsonEntry special = part.at("SpecialToken");
    PartList tokens;
    for (const JsonEntry& id : names.at(special.at("id").text()).at("ids").items()) {
      if (id.integer() < 0 || id.integer() >= vocab_size())
        id.fail(fmt::format("id {} is not in 0..{}", id.integer(), vocab_size() - 1));
      tokens.push_back({Part::Kind::special, id.integer(), special.integer("type_id", 0)});
    }
    out.push_back(std::move(tokens));
  }
  if (encodings.size() == 1 && held[0] != 1) list.fail("must contain A once");
  if (encodings.size() == 2 && (held[0] != 1 || held[1] != 1)) list.fail("must contain A and B once each");
  return out;
}

void TokenizerJson::choose(const Languages& languages, const std::string& where) {
  const LanguageKind* kind = language_kind_of(config_.tokenizer_class);
  if (kind == nullptr || kind->source.empty()) return;
  text::choose(config_, languages);
  const std::string source = kind->source_of(config_);
  // A file without a language may belong to a model without the class's default language.
  if (config_.src_lang.empty() && !find(kind->token(source))) return;
  set_language_templates(*kind, config_, where);
}

std::unique_ptr<TokenizerJson> TokenizerJson::load(const std::string& folder, const Languages& languages) {
  const std::string path = file_in_folder(folder, "tokenizer.json");
  std::string content = read_text(path);
  nlohmann::json json = parse_large_json(content, path, 16);
  const JsonEntry file(json, path);
  JsonModel model(file.at("model"));
  TokenizerConfig config = read_tokenizer_config(folder, default_names(folder, file, model));
  if (replace_options(json, strip_fast_suffix(tokenizer_class_of(folder)), config)) content = json.dump();
  std::unique_ptr<TokenizerJson> out(new TokenizerJson(file, std::move(model), std::move(config), std::move(content)));
  out->choose(languages, path);
  return out;
}

void TokenizerJson::save(const std::string& folder) const {
  write_in_folder(folder, "tokenizer.json", content_);
  save_config(folder);
}

}  // namespace tape::text
