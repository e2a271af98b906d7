#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tape::text {

/// Hash function: mixes the bits of a key.
inline uint64_t mix(uint64_t key) {
  key ^= key >> 32;
  key *= 0x9E3779B97F4A7C15u;
  return key ^ (key >> 29);
}

/// An open-addressing hash table from 64-bit keys to small values, with keys and values in one array. No erasing.
template <class Value>
class FlatMap {
 public:
  /// Returns the value of a key, inserting it if needed. The key ~0 is reserved.
  Value& operator[](uint64_t key) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place(key)];
    if (slot.key != key) {
      slot = {key, Value{}};
      ++count_;
    }
    return slot.value;
  }
  /// Returns null if there is none.
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
