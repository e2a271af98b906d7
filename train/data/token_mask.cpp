#include "train/data/token_mask.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/random.h"
#include "base/error.h"

namespace tape::train {

TokenMask::TokenMask(const text::Tokenizer& tokenizer, double share, uint64_t seed, const std::string& name)
    : tokenizer_(tokenizer), share_(share), seed_(seed) {
  if (!(share > 0 && share <= 1))
    raise(ErrorKind::config, "train mlm: mask_share must be above 0 and at most 1, got {}", share);
  if (tokenizer.special().mask < 0)
    raise(ErrorKind::config, "train mlm: the tokenizer of {} has no mask token, which masked language modeling needs",
          name);
  for (int64_t id = 0; id < tokenizer.vocab_size(); ++id)
    if (!tokenizer.is_special(id)) words_.push_back(id);
}

std::vector<int64_t> TokenMask::words_in(const std::vector<int64_t>& ids) const {
  std::vector<int64_t> places;
  for (int64_t place = 0; place < std::ssize(ids); ++place)
    if (!tokenizer_.is_special(ids[static_cast<size_t>(place)])) places.push_back(place);
  return places;
}

bool TokenMask::has_words(const std::vector<int64_t>& ids) const {
  return std::ranges::any_of(ids, [this](int64_t id) { return !tokenizer_.is_special(id); });
}

MaskedLine TokenMask::operator()(const std::vector<int64_t>& ids, int64_t epoch, int64_t line) const {
  // A stream other than those of manual_seed and the batch plans; each line's seed is one value of it.
  Generator seeds;
  seeds.set_state(seed_ + (uint64_t{kStreams} << 56),
                  (static_cast<uint64_t>(epoch) << 40) + static_cast<uint64_t>(line));
  Generator draws(static_cast<uint64_t>(seeds.below(std::numeric_limits<int64_t>::max())));
  MaskedLine masked{.ids = ids, .places = words_in(ids), .words = {}};
  std::vector<int64_t>& places = masked.places;
  const int64_t all = std::ssize(places);
  const int64_t count = std::min(all, std::max<int64_t>(1, std::llround(share_ * static_cast<double>(all))));
  for (int64_t i = 0; i < count; ++i)
    std::swap(places[static_cast<size_t>(i)], places[static_cast<size_t>(i + draws.below(all - i))]);
  places.resize(static_cast<size_t>(count));
  std::ranges::sort(places);
  for (const int64_t place : places) {
    int64_t& id = masked.ids[static_cast<size_t>(place)];
    masked.words.push_back(id);
    const double kind = draws.uniform();
    if (kind < 0.8)
      id = tokenizer_.special().mask;
    else if (kind < 0.9)
      id = words_[static_cast<size_t>(draws.below(std::ssize(words_)))];
  }
  return masked;
}

}  // namespace tape::train
