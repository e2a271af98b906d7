// Kernels of TokenKernels (autograd/kernels/random/tokens.h): the choice of a token from a row of scores by one block,
// in the order of models/decoding/sampling.h. Scores are f64, as on the CPU.
//
// Where the CPU adds probabilities one by one, these are rounded to multiples of 2^-62 and added as integers. Sums
// differ by some 2^-50, so that the same token is chosen unless a draw is that close to the end of a token's share.
#include "../index/ordered_key.h"
#include "../lines.h"
#include "autograd/kernels/random/common/random_draw.h"
#include "autograd/kernels/random/common/token_choice.h"
#include "autograd/kernels/runtime/common/finding.h"
#include "weighted_rank.h"

using tape::kernels::BadScore;
using tape::kernels::Finding;
using tape::kernels::TokenChoice;
using tape::kernels::TokenRows;
using weighted_rank::Boundary;
using weighted_rank::boundary_of;
using weighted_rank::first_beyond;
using weighted_rank::for_values;
using weighted_rank::Mass;
using weighted_rank::threads;
using weighted_rank::Workspace;

namespace {

struct Smaller {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};
constexpr int64_t kNowhere = INT64_MAX;

/// Sets of ids of a row, as bits.
struct Marks {
  uint32_t *seen, *hidden;  // null: empty

  __device__ static void add(uint32_t* set, int64_t id, int64_t vocab) {
    if (id >= 0 && id < vocab) atomicOr(set + id / 32, 1U << (id % 32));
  }
  __device__ static bool has(const uint32_t* set, int64_t id) { return set && set[id / 32] >> (id % 32) & 1; }
};

/// Marks the tokens of a text, and the ids that must not follow it.
__device__ Marks mark(const TokenChoice& c, const int64_t* text, int64_t begin, const int64_t* hidden,
                      uint32_t* words) {
  if (!c.marks_ids()) return {nullptr, nullptr};
  const int64_t size = (c.vocab + 31) / 32, n = c.no_repeat_ngram;
  const Marks marks{words, words + size};
  for (int64_t i = threadIdx.x; i < 2 * size; i += threads()) words[i] = 0;
  __syncthreads();
  for (int64_t i = threadIdx.x; i < c.hidden; i += threads()) Marks::add(marks.hidden, hidden[i], c.vocab);
  for (int64_t i = begin + threadIdx.x; i < c.length; i += threads()) {
    Marks::add(marks.seen, text[i], c.vocab);
    // An n-gram of the text that begins as its last n - 1 tokens do.
    bool repeats = n > 0 && i + n - 1 < c.length;
    for (int64_t j = 0; repeats && j < n - 1; ++j) repeats = text[i + j] == text[c.length - n + 1 + j];
    if (repeats) Marks::add(marks.hidden, text[i + n - 1], c.vocab);
  }
  __syncthreads();
  return marks;
}

/// A row of scores in `x`, and what is known of it.
struct Row {
  double* x;
  double highest;
  int64_t bad;  // first id whose score is NaN or infinite, or kNowhere
  BadScore why;
};

/// Hides ids, then applies the repetition penalty.
template <class T>
__device__ Row read_scores(const TokenChoice& c, const T* scores, const Marks& marks, double* x) {
  int64_t bad = kNowhere;
  double highest = -INFINITY;
  for_values(scores, c.vocab, [&](int64_t i, T given) {
    if (i == c.vocab) return;
    double score = static_cast<double>(given);
    if (i >= c.limit || Marks::has(marks.hidden, i)) score = -INFINITY;
    if (!(score < INFINITY)) bad = Smaller()(bad, i);
    if (c.repetition_penalty != 1 && Marks::has(marks.seen, i))
      score = score < 0 ? score * c.repetition_penalty : score / c.repetition_penalty;
    highest = max(highest, score);
    x[i] = score;
  });
  const Row row{x, over_line(highest, Larger()), over_line(bad, Smaller()), BadScore::kScoreIsInfinite};
  if (row.bad != kNowhere) return {x, 0, row.bad, isnan(x[row.bad]) ? BadScore::kScoreIsNan : row.why};
  if (row.highest == -INFINITY) return {x, 0, 0, BadScore::kNoScoreIsFinite};
  return row;
}

/// The first id with the highest score.
__device__ int64_t likeliest(const TokenChoice& c, const Row& row) {
  int64_t first = kNowhere;
  for_values(row.x, c.vocab, [&](int64_t i, double score) {
    if (i < c.vocab && score == row.highest) first = Smaller()(first, i);
  });
  return over_line(first, Smaller());
}

__device__ double probability_of(uint64_t key) { return __longlong_as_double(static_cast<long long>(key)); }
__device__ uint64_t key_of_probability(double p) { return static_cast<uint64_t>(__double_as_longlong(p)); }
__device__ Mass mass_of(double p) { return static_cast<Mass>(rint(p * 0x1p62)); }

/// The mass of keys that are counted.
__device__ Mass one(uint64_t) { return 1; }

/// Replaces scores by probabilities, 0 for those below the k largest; returns 1 / their sum, the largest one.
__device__ double to_probabilities(const TokenChoice& c, const Row& row, Workspace& w) {
  uint64_t least = 0;
  if (c.top_k > 0 && c.top_k < c.vocab) {
    const auto key_at = [](int64_t, double score, uint64_t& key) {
      key = key_of(score);
      return true;
    };
    least = boundary_of(row.x, c.vocab, static_cast<Mass>(c.vocab - c.top_k), key_at, one, w).key;
  }
  double sum = 0;
  for_values(row.x, c.vocab, [&](int64_t i, double score) {
    if (i == c.vocab) return;
    const double weight = key_of(score) < least ? 0 : exp((score - row.highest) / c.temperature);
    row.x[i] = weight;
    sum += weight;
  });
  sum = over_line(sum, Add());
  for_values(row.x, c.vocab, [&](int64_t i, double weight) {
    if (i < c.vocab) row.x[i] = weight / sum;
  });
  __syncthreads();
  return 1 / sum;
}

/// Sets the least likely probabilities to 0 whose sum is at most 1 - top_p, but never the largest one. Among equals the
/// first counts as less likely.
__device__ void keep_top_p(const TokenChoice& c, const Row& row, double largest, Workspace& w) {
  const auto limit = static_cast<Mass>((1 - c.top_p) * 0x1p62);
  const auto key_at = [](int64_t, double p, uint64_t& key) {
    key = key_of_probability(p);
    return true;
  };
  const auto mass_of_key = [](uint64_t key) { return mass_of(probability_of(key)); };
  Boundary last = boundary_of(row.x, c.vocab, limit, key_at, mass_of_key, w);
  int64_t first_kept = 0;  // of those equal to the boundary
  if (last.exists) {
    const Mass excluded = (limit - last.below) / mass_of_key(last.key);  // equals
    const auto place_at = [&](int64_t i, double p, uint64_t& place) {
      place = static_cast<uint64_t>(i);
      return key_of_probability(p) == last.key;
    };
    if (excluded > 0) first_kept = static_cast<int64_t>(boundary_of(row.x, c.vocab, excluded, place_at, one, w).key);
  } else {
    last.key = key_of_probability(largest);
    int64_t end = 0;
    for_values(row.x, c.vocab, [&](int64_t i, double p) {
      if (i < c.vocab && key_of_probability(p) == last.key) end = i;
    });
    first_kept = over_line(end, Larger());
  }
  __syncthreads();
  for_values(row.x, c.vocab, [&](int64_t i, double p) {
    const uint64_t key = key_of_probability(p);
    if (i < c.vocab && (key < last.key || (key == last.key && i < first_kept))) row.x[i] = 0;
  });
  __syncthreads();
}

__device__ int64_t draw(const TokenChoice& c, const Row& row, int64_t number, Workspace& w) {
  const double largest = to_probabilities(c, row, w), least = c.min_p * largest;
  if (c.top_p < 1) keep_top_p(c, row, largest, w);
  const auto mass_at = [&](int64_t i) { return row.x[i] < least ? Mass{0} : mass_of(row.x[i]); };
  Mass sum = 0;
  for_values(row.x, c.vocab, [&](int64_t, double p) { sum += p < least ? Mass{0} : mass_of(p); });
  sum = over_line(sum, Add());
  // The first 53 bits of a draw are a value u in [0, 1); this is u * sum, rounded down.
  const uint64_t bits = tape::kernels::philox_draw64(c.seed + static_cast<uint64_t>(number), c.draw) >> 11 << 11;
  return first_beyond(c.vocab, __umul64hi(bits, sum), mass_at, w);
}

/// By one thread: writes a choice.
template <class T>
__device__ void append(const TokenChoice& c, const TokenRows<T>& rows, int64_t row, int64_t token) {
  rows.text[row * c.columns + c.length] = token;
  rows.next[row] = token;
  if (token < 0) rows.ended[row] = true;
  for (int64_t i = 0; i < c.stops; ++i)
    if (rows.stop_ids[i] == token) rows.ended[row] = true;
}

template <class T>
__device__ void choose_tokens(TokenChoice c, TokenRows<T> rows, double* scores, uint32_t* marks, int64_t number,
                              Finding* finding) {
  __shared__ Workspace workspace;
  const int64_t row = blockIdx.x;
  if (rows.ended[row]) {
    if (threadIdx.x == 0) rows.next[row] = rows.text[row * c.columns + c.length] = c.filler;
    return;
  }
  const Marks marked =
      mark(c, rows.text + row * c.columns, rows.begin[row], rows.hidden, marks + row * 2 * ((c.vocab + 31) / 32));
  const Row read = read_scores(c, rows.scores + row * c.vocab, marked, scores + row * c.vocab);
  int64_t token = tape::kernels::kNoToken;
  if (read.bad == kNowhere)
    token = c.temperature == 0 ? likeliest(c, read) : draw(c, read, rows.numbers[row], workspace);
  if (threadIdx.x != 0) return;
  append(c, rows, row, token);
  // Other rows may find something too.
  if (token < 0 && atomicCAS(reinterpret_cast<unsigned long long*>(&finding->check), 0ULL,
                             static_cast<unsigned long long>(number)) == 0) {
    finding->position = row * c.vocab + read.bad;
    finding->value = read.why;
  }
}

}  // namespace

TAPE_EXPORT(choose_tokens,
            (TokenChoice c, TokenRows<T> rows, double* scores, uint32_t* marks, int64_t number, Finding* finding),
            (c, rows, scores, marks, number, finding))
