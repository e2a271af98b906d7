#include "text/tokenizers/json_model.h"

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "text/tokenizers/bpe_model.h"
#include "text/tokenizers/decoder.h"
#include "text/tokenizers/unigram_model.h"
#include "text/tokenizers/word_level_model.h"
#include "text/tokenizers/word_piece_model.h"

namespace tape::text {
namespace {

/// Old files do not say.
std::string type_of(const JsonEntry& entry) {
  if (entry.has("type")) return entry.at("type").text();
  if (entry.at("vocab").value().is_array()) return "Unigram";
  return entry.has("merges") ? "BPE" : "WordPiece";
}

/// `<0x...>` is a byte's token, or a mistake.
void check_byte_token(const JsonEntry& vocab, const std::string& token) {
  if (token.starts_with("<0x") && token.ends_with(">") && byte_of_token(token) < 0)
    vocab.fail(fmt::format("\"{}\" is not a byte", clipped(token, 40)));
}

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
    for (const JsonEntry& pair : vocab.items()) {
      const std::vector<JsonEntry> parts = pair.items();
      if (parts.size() != 2) pair.needs("a token and its score");
      vocabulary_.emplace_back(parts[0].text(), static_cast<int64_t>(scores_.size()));
      scores_.push_back(parts[1].number());
    }
  } else {
    if (!vocab.value().is_object()) vocab.needs("an object");
    vocabulary_.reserve(vocab.value().size());
    for (const auto& [token, id] : vocab.value().items()) {
      if (!id.is_number_integer())
        JsonEntry(id, fmt::format("{}.\"{}\"", vocab.where(), clipped(token, 40))).needs("a whole number");
      vocabulary_.emplace_back(token, JsonEntry(id, vocab.where()).integer());
    }
  }
  if (bytes)
    for (const auto& [token, id] : vocabulary_) check_byte_token(vocab, token);
}

Merges JsonModel::read_merges() const {
  Merges out;
  for (const JsonEntry& merge : entry_.at("merges").items()) {
    if (merge.value().is_array()) {
      const std::vector<JsonEntry> parts = merge.items();
      if (parts.size() != 2) merge.needs("two tokens");
      out.emplace_back(parts[0].text(), parts[1].text());
      continue;
    }
    const std::string line = merge.text();
    const size_t blank = line.find(' ');
    if (blank == std::string::npos || line.find(' ', blank + 1) != std::string::npos)
      merge.needs("two tokens with a blank between them");
    out.emplace_back(line.substr(0, blank), line.substr(blank + 1));
  }
  return out;
}

bool JsonModel::takes_bytes() const {
  return type_ == "BPE" && entry_.text("continuing_subword_prefix", "").empty() &&
         entry_.text("end_of_word_suffix", "").empty();
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
  if (type_ == "WordLevel") return word_level_model(table, unk_token_, entry_.where());
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
