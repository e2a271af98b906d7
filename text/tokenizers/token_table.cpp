#include "text/tokenizers/token_table.h"

#include "base/utf8.h"

namespace tape::text {

TokenTable::Entries TokenTable::numbered(std::vector<std::string> tokens) {
  Entries out;
  out.reserve(tokens.size());
  for (std::string& token : tokens) out.emplace_back(std::move(token), static_cast<int64_t>(out.size()));
  return out;
}

TokenTable::TokenTable(Entries entries, const Entries& added, const std::string& where) {
  const size_t own = entries.size();
  if (own == 0) raise(ErrorKind::format, "{}: the vocabulary is empty", where);
  entries.insert(entries.end(), added.begin(), added.end());
  const auto count = static_cast<int64_t>(entries.size());
  tokens_.resize(entries.size());
  in_model_.resize(entries.size());
  std::vector<bool> taken(entries.size());
  ids_.reserve(entries.size());
  size_t read = 0;
  for (auto& [token, id] : entries) {
    if (token.empty()) raise(ErrorKind::format, "{}: the token with id {} is empty", where, id);
    if (token.size() > kLongestToken)
      raise(ErrorKind::format, "{}: the token with id {} has {} bytes, at most {} are allowed", where, id, token.size(),
            kLongestToken);
    const auto shown = [&token = token] { return clipped(token, 40); };
    if (id < 0 || id >= count)
      raise(ErrorKind::format, "{}: token \"{}\" has id {}, {} tokens need ids 0 to {}", where, shown(), id, count,
            count - 1);
    const auto place = static_cast<size_t>(id);
    if (taken[place])
      raise(ErrorKind::format, "{}: tokens \"{}\" and \"{}\" share id {}", where, clipped(tokens_[place], 40), shown(),
            id);
    if (!ids_.try_emplace(token, id).second) raise(ErrorKind::format, "{}: token \"{}\" stands twice", where, shown());
    taken[place] = true;
    in_model_[place] = read++ < own;
    tokens_[place] = std::move(token);
  }
}

const std::string& TokenTable::token(int64_t id) const {
  if (id < 0 || id >= size()) raise(ErrorKind::index, "token: id {} is not in 0..{}", id, size() - 1);
  return tokens_[static_cast<size_t>(id)];
}

}  // namespace tape::text
