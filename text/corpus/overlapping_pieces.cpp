#include "text/corpus/overlapping_pieces.h"

#include <algorithm>

namespace tape::text {
namespace {

/// Keeps tokens [begin, end).
void keep(Encoding& encoding, size_t begin, size_t end) {
  const auto cut = [&](auto& values) {
    values.resize(end);
    values.erase(values.begin(), values.begin() + static_cast<ptrdiff_t>(begin));
  };
  cut(encoding.ids);
  cut(encoding.type_ids);
  cut(encoding.attention_mask);
  cut(encoding.offsets);
  cut(encoding.special_tokens_mask);
}

/// Index of the first token whose offsets fit; the number of tokens if none does.
template <class Fits>
size_t first_token(const Encoding& encoding, Fits&& fits) {
  return static_cast<size_t>(std::ranges::find_if(encoding.offsets, fits) - encoding.offsets.begin());
}

/// Matching tokens: [first, first + size) of one encoding and [second, second + size) of the other.
struct Run {
  size_t first = 0, second = 0, size = 0;
};

/// The longest common run of tokens: in `one` from `begin` on, in `other` before `end`, with offsets that are `shift`
/// bytes larger in `one`.
Run longest_run(const Encoding& one, size_t begin, const Encoding& other, size_t end, uint32_t shift) {
  Run longest;
  std::vector<size_t> before(end + 1), sizes(end + 1);  // length of the run that ends at each token of `other`
  for (size_t i = begin; i < one.size(); ++i, before.swap(sizes))
    for (size_t j = 0; j < end; ++j) {
      const Range at{other.offsets[j].begin + shift, other.offsets[j].end + shift};
      sizes[j + 1] = one.ids[i] == other.ids[j] && one.offsets[i] == at ? before[j] + 1 : 0;
      if (sizes[j + 1] > longest.size) longest = {i + 1 - sizes[j + 1], j + 1 - sizes[j + 1], sizes[j + 1]};
    }
  return longest;
}

}  // namespace

std::optional<OverlappingPiece> OverlappingPieces::next() {
  const auto next = next_();
  if (!next) return std::nullopt;
  OverlappingPiece piece{.text = std::move(before_), .lead = 0};
  piece.lead = static_cast<uint32_t>(piece.text.size());
  piece.text += *next;
  size_t from = piece.text.size() - std::min(piece.text.size(), kOverlap);
  while (from < piece.text.size() && !is_utf8_lead_byte(piece.text[from])) ++from;
  before_ = piece.text.substr(from);
  return piece;
}

void join(const OverlappingPiece& first, Encoding& of_first, const OverlappingPiece& second, Encoding& of_second) {
  const auto start = static_cast<uint32_t>(first.text.size()) - second.lead;  // start of the overlap in `first`
  const size_t begin = first_token(of_first, [start](Range at) { return at.begin >= start; });
  const size_t end = first_token(of_second, [&second](Range at) { return at.end > second.lead; });
  const Run run = longest_run(of_first, begin, of_second, end, start);
  if (run.size > 0) {
    keep(of_first, 0, run.first + run.size / 2);
    keep(of_second, run.second + run.size / 2, of_second.size());
  } else {
    keep(of_second, first_token(of_second, [&second](Range at) { return at.begin >= second.lead; }), of_second.size());
  }
}

}  // namespace tape::text
