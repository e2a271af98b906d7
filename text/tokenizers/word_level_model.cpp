#include "text/tokenizers/word_level_model.h"

#include "base/utf8.h"

namespace tape::text {
namespace {

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

WordModelPtr word_level_model(const TokenTable& vocabulary, const std::string& unk_token, const std::string& where) {
  return std::make_unique<WordLevelModel>(vocabulary, unk_token, where);
}

}  // namespace tape::text
