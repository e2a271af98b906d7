#include "text/tokenizers/steps/json_parts.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "text/tokenizers/steps/decoder.h"

namespace tape::text {
namespace {

/// Old files have no type.
std::string type_of(const JsonEntry& entry) {
  if (entry.has("type")) return entry.at("type").text();
  if (entry.at("vocab").value().is_array()) return "Unigram";
  return entry.has("merges") ? "BPE" : "WordPiece";
}

/// One of the two strings of a list element. Builds its path only for an error.
const std::string& text_in(const JsonEntry& list, size_t i, size_t part) {
  const nlohmann::json& value = list.value()[i][part];
  if (!value.is_string()) list.item(i).item(part).needs("a string");
  return value.get_ref<const std::string&>();
}

/// A token `<0x...>` must be a byte.
void check_byte_token(const JsonEntry& vocab, const std::string& token) {
  if (token.starts_with("<0x") && token.ends_with(">") && byte_of_token(token) < 0)
    vocab.fail(fmt::format("\"{}\" is not a byte", clipped(token, 40)));
}

/// Each word is one token of the vocabulary, or the unknown token.
class WordLevelModel : public WordModel {
 public:
  WordLevelModel(const TokenTable& vocabulary, const std::string& unk_token, const std::string& where)
      : vocabulary_(vocabulary), unk_(static_cast<int32_t>(required_id(vocabulary, unk_token, where))) {}

  void explain(std::string_view word, std::vector<std::string>& lines) const override {
    lines.push_back(fmt::format("  {} -> {}", clipped(word, 200), clipped(vocabulary_.token(id_of(word)), 100)));
  }

 private:
  int32_t id_of(std::string_view word) const {
    const auto id = vocabulary_.find(word);
    return id && vocabulary_.in_model(*id) ? static_cast<int32_t>(*id) : unk_;
  }
  void split_word(std::string_view word, std::vector<Piece>& to) const override {
    to.push_back({id_of(word), 0, static_cast<uint32_t>(word.size())});
  }

  const TokenTable& vocabulary_;
  int32_t unk_;
};

}  // namespace

JsonModel::JsonModel(const JsonEntry& entry) : entry_(entry), type_(type_of(entry)) {
  if (type_ != "WordPiece" && type_ != "BPE" && type_ != "Unigram" && type_ != "WordLevel")
    entry_.fail(fmt::format("type \"{}\" is not supported", type_));
  read_vocabulary();
  if (type_ != "Unigram") {
    unk_token_ = entry_.text("unk_token", type_ == "WordPiece" ? "[UNK]" : type_ == "WordLevel" ? "<unk>" : "");
    return;
  }
  const int64_t unk = entry_.integer("unk_id", -1);
  if (unk < -1 || unk >= static_cast<int64_t>(vocabulary_.size()))
    entry_.at("unk_id").fail(fmt::format("{} is not in 0..{}", unk, static_cast<int64_t>(vocabulary_.size()) - 1));
  if (unk >= 0) unk_token_ = vocabulary_[static_cast<size_t>(unk)].first;
}

void JsonModel::read_vocabulary() {
  const JsonEntry vocab = entry_.at("vocab");
  const bool bytes = entry_.flag("byte_fallback", false);
  if (type_ == "Unigram") {
    vocabulary_.reserve(vocab.size());
    scores_.reserve(vocab.size());
    for (size_t i = 0; i < vocab.size(); ++i) {
      const nlohmann::json& pair = vocab.value()[i];
      if (!pair.is_array() || pair.size() != 2) vocab.item(i).needs("a token and its score");
      if (!pair[1].is_number()) vocab.item(i).item(1).needs("a number");
      vocabulary_.emplace_back(text_in(vocab, i, 0), static_cast<int64_t>(i));
      scores_.push_back(pair[1].get<double>());
    }
  } else {
    if (!vocab.value().is_object()) vocab.needs("an object");
    vocabulary_.reserve(vocab.value().size());
    for (const auto& [token, id] : vocab.value().items()) {
      if (!id.is_number_integer())
        JsonEntry(id, fmt::format("{}.\"{}\"", vocab.where(), clipped(token, 40))).needs("an integer");
      vocabulary_.emplace_back(token, JsonEntry(id, vocab.where()).integer());
    }
  }
  if (bytes)
    for (const auto& [token, id] : vocabulary_) check_byte_token(vocab, token);
}

Merges JsonModel::read_merges() const {
  Merges out;
  const JsonEntry merges = entry_.at("merges");
  out.reserve(merges.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    const nlohmann::json& merge = merges.value()[i];
    if (merge.is_array()) {
      if (merge.size() != 2) merges.item(i).needs("two tokens");
      out.emplace_back(text_in(merges, i, 0), text_in(merges, i, 1));
      continue;
    }
    const std::string line = merges.item(i).text();
    const size_t blank = line.find(' ');
    if (blank == std::string::npos || line.find(' ', blank + 1) != std::string::npos)
      merges.item(i).needs("two tokens separated by a space");
    out.emplace_back(line.substr(0, blank), line.substr(blank + 1));
  }
  return out;
}

bool JsonModel::knows(std::string_view token) const {
  return std::ranges::any_of(vocabulary_, [token](const auto& entry) { return entry.first == token; });
}

bool JsonModel::takes_bytes() const {
  return type_ == "BPE" && !entry_.flag("byte_fallback", false) &&
         entry_.text("continuing_subword_prefix", "").empty() && entry_.text("end_of_word_suffix", "").empty();
}

WordModelPtr JsonModel::make_bpe(const TokenTable& table, bool bytes) const {
  if (entry_.has("dropout") && entry_.at("dropout").number() != 0) entry_.at("dropout").fail("is not supported");
  return bpe_model(table, read_merges(),
                   {.bytes = bytes,
                    .unk_token = unk_token_,
                    .fuse_unk = entry_.flag("fuse_unk", false),
                    .byte_fallback = entry_.flag("byte_fallback", false),
                    .ignore_merges = entry_.flag("ignore_merges", false),
                    .continuing_prefix = entry_.text("continuing_subword_prefix", ""),
                    .end_of_word_suffix = entry_.text("end_of_word_suffix", "")},
                   entry_.where());
}

WordModelPtr JsonModel::make(const TokenTable& table, bool bytes) const {
  if (type_ == "BPE") return make_bpe(table, bytes);
  if (type_ == "WordLevel") return std::make_unique<WordLevelModel>(table, unk_token_, entry_.where());
  if (type_ == "Unigram")
    return unigram_model(table, scores_,
                         {.unk_id = entry_.integer("unk_id", -1), .byte_fallback = entry_.flag("byte_fallback", false)},
                         entry_.where());
  return word_piece_model(table,
                          {.unk_token = unk_token_,
                           .continuing_prefix = entry_.text("continuing_subword_prefix", "##"),
                           .max_word_characters = entry_.integer("max_input_chars_per_word", 100)},
                          entry_.where());
}

}  // namespace tape::text
