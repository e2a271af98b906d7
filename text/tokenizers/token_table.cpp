#include "text/tokenizers/token_table.h"

#include <bit>

#include "base/utf8.h"

namespace tape::text {

TokenTable::Entries TokenTable::numbered(std::vector<std::string> tokens) {
  Entries out;
  out.reserve(tokens.size());
  for (std::string& token : tokens) out.emplace_back(std::move(token), static_cast<int64_t>(out.size()));
  return out;
}

TokenTable::TokenTable(Entries entries, const ExtraTokens& beside, const std::string& where) {
  const size_t own = entries.size();
  if (own == 0) raise(ErrorKind::format, "{}: the vocabulary is empty", where);
  insert(entries, 0, where);
  if (beside) {
    const Entries more = beside([&](std::string_view token) -> std::optional<int64_t> {
      const auto text_of = [&entries](int64_t i) { return std::string_view(entries[static_cast<size_t>(i)].first); };
      const Slot& slot = slots_[place(token, hash_of(token), text_of)];
      return slot.number < 0 ? std::nullopt : std::optional(entries[static_cast<size_t>(slot.number)].second);
    });
    entries.insert(entries.end(), more.begin(), more.end());
    insert(entries, own, where);
  }
  sort_by_id(std::move(entries), own, where);
}

/// Adds the entries from `begin` on to the hash table, numbered by position.
void TokenTable::insert(const Entries& entries, size_t begin, const std::string& where) {
  const auto text_of = [&entries](int64_t i) { return std::string_view(entries[static_cast<size_t>(i)].first); };
  if (slots_.size() < 2 * entries.size()) {
    std::vector<Slot> old(std::bit_ceil(2 * entries.size()));
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.number >= 0) slots_[place(text_of(slot.number), slot.hash, text_of)] = slot;
  }
  for (size_t i = begin; i < entries.size(); ++i) {
    const auto& [token, id] = entries[i];
    if (token.empty()) raise(ErrorKind::format, "{}: the token with id {} is empty", where, id);
    if (token.size() > kLongestToken)
      raise(ErrorKind::format, "{}: the token with id {} has {} bytes, at most {} are allowed", where, id, token.size(),
            kLongestToken);
    const uint64_t hash = hash_of(token);
    Slot& slot = slots_[place(token, hash, text_of)];
    if (slot.number >= 0) raise(ErrorKind::format, "{}: duplicate token \"{}\"", where, clipped(token, 40));
    slot = {hash, static_cast<int64_t>(i)};
  }
}

/// Reorders the tokens so that each one's number is its id.
void TokenTable::sort_by_id(Entries entries, size_t own, const std::string& where) {
  const auto count = static_cast<int64_t>(entries.size());
  tokens_.resize(entries.size());
  in_model_.resize(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    auto& [token, id] = entries[i];
    if (id < 0 || id >= count)
      raise(ErrorKind::format, "{}: token \"{}\" has id {}, {} tokens need ids 0 to {}", where, clipped(token, 40), id,
            count, count - 1);
    const auto place = static_cast<size_t>(id);
    if (!tokens_[place].empty())
      raise(ErrorKind::format, "{}: tokens \"{}\" and \"{}\" share id {}", where, clipped(tokens_[place], 40),
            clipped(token, 40), id);
    in_model_[place] = i < own;
    tokens_[place] = std::move(token);
  }
  for (Slot& slot : slots_)
    if (slot.number >= 0) slot.number = entries[static_cast<size_t>(slot.number)].second;
}

const std::string& TokenTable::token(int64_t id) const {
  if (id < 0 || id >= size()) raise(ErrorKind::index, "token: id {} is not in 0..{}", id, size() - 1);
  return tokens_[static_cast<size_t>(id)];
}

}  // namespace tape::text
