#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tape::text {

/// Scatters the bits of a key over the whole word.
inline uint64_t mix(uint64_t key) {
  key ^= key >> 32;
  key *= 0x9E3779B97F4A7C15u;
  return key ^ (key >> 29);
}

/// A hash table from 64-bit keys to small values, filled once and then read: keys and values stand in one array.
template <class Value>
class FlatMap {
 public:
  /// Gives the value of a key, a new one where there is none. The key ~0 is reserved.
  Value& operator[](uint64_t key) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place(key)];
    if (slot.key != key) {
      slot = {key, Value{}};
      ++count_;
    }
    return slot.value;
  }
  /// Null where there is none.
  const Value* find(uint64_t key) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[place(key)];
    return slot.key == key ? &slot.value : nullptr;
  }
  size_t size() const { return count_; }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};
  struct Slot {
    uint64_t key = kFree;
    Value value{};
  };

  size_t place(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t at = mix(key) & mask;
    while (slots_[at].key != key && slots_[at].key != kFree) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.key != kFree) slots_[place(slot.key)] = slot;
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

}  // namespace tape::text
