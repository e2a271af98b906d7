#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "token_table.h"
#include "tokenizer.h"

namespace tape::text {

/// A tokenizer whose tokens, including added ones, are those of a table.
class TableTokenizer : public Tokenizer {
 public:
  int64_t vocab_size() const override { return table_->size(); }
  const std::string& token(int64_t id) const override { return table_->token(id); }
  std::optional<int64_t> find(std::string_view token) const override { return table_->find(token); }
  bool is_special(int64_t id) const override {
    return id >= 0 && id < table_->size() && special_ids_[static_cast<size_t>(id)];
  }

 protected:
  explicit TableTokenizer(std::shared_ptr<const TokenTable> table)
      : table_(std::move(table)), special_ids_(static_cast<size_t>(table_->size())) {}

  const TokenTable& table() const { return *table_; }
  /// Marks a token as special, so that decode omits it.
  void mark_special(int64_t id, bool special = true) { special_ids_[static_cast<size_t>(id)] = special; }

 private:
  std::shared_ptr<const TokenTable> table_;
  std::vector<bool> special_ids_;  // by id
};

}  // namespace tape::text
