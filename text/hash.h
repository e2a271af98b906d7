#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace tape {

/// Streaming XXH3-64.
class Hash {
 public:
  Hash();
  ~Hash();
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;
  void add(const void* bytes, size_t count);
  uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// XXH3-64 of one buffer.
uint64_t hash_of(std::string_view bytes, uint64_t seed = 0);

}  // namespace tape
