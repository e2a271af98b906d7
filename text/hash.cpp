#define XXH_INLINE_ALL
#include "text/hash.h"

#include <xxhash.h>

namespace tape {

struct Hash::State {
  XXH3_state_t of;
};

Hash::Hash() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->of); }
Hash::~Hash() = default;

void Hash::add(const void* bytes, size_t count) { XXH3_64bits_update(&state_->of, bytes, count); }

uint64_t Hash::value() const { return XXH3_64bits_digest(&state_->of); }

uint64_t hash_of(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace tape
