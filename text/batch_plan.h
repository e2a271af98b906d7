#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../autograd/random.h"
#include "packed_values.h"

/// Which examples make which batch. A plan is a function of its arguments alone, so a run that stopped goes on from
/// (seed, epoch, position of the batch in the epoch's plan): nothing else need be saved.
namespace tape::text {

/// Tokens of an example, those added at start and end included; target 0 for texts without a second side.
struct ExampleLength {
  int64_t source = 0;
  int64_t target = 0;
};

inline void append_packed(std::string& to, const ExampleLength& value) {
  tape::append_packed(to, value.source);
  tape::append_packed(to, value.target);
}
inline void take_packed(std::string_view& from, ExampleLength& value) {
  tape::take_packed(from, value.source);
  tape::take_packed(from, value.target);
}

struct BatchOptions {
  /// Most tokens of a batch, padding included, on either side: the longest example's longer side times the examples, as
  /// fairseq counts --max-tokens.
  int64_t max_tokens = 4096;
  int64_t max_sentences = 0;      ///< most examples of a batch; 0: as many as max_tokens allows
  int64_t max_source_length = 0;  ///< examples with a longer source are skipped; 0: any
  int64_t max_target_length = 0;  ///< the same of the target
  /// Examples that are sorted by length together. A larger pool pads less, a smaller one mixes lengths more.
  int64_t pool = 32'768;
};

struct BatchPlan {
  std::vector<std::vector<int64_t>> batches;  ///< places of examples; each that is not skipped stands in one batch
  std::vector<int64_t> skipped;  ///< ascending: examples longer than a limit, or than max_tokens on their own
};

/// Batches of one epoch: examples shuffled, cut into pools of nearly equal size, sorted by length within each (equal
/// lengths stay shuffled), filled from the shortest, and the batches of all pools shuffled; both by (seed, epoch).
///
/// Errors: ErrorKind::config for options out of range, a negative epoch, and when every example is skipped;
/// ErrorKind::index for a negative length.
BatchPlan plan_batches(std::span<const ExampleLength> lengths, const BatchOptions& options, uint64_t seed,
                       int64_t epoch);

/// The same without randomness, from the shortest batch to the longest and with one pool: for validation and for
/// translating.
BatchPlan plan_sorted_batches(std::span<const ExampleLength> lengths, const BatchOptions& options);

/// "train.de: 2 of 29,000 examples skipped: too long, the longest has 312 tokens"; empty when none was.
std::string skipped_note(const BatchPlan& plan, std::span<const ExampleLength> lengths, const std::string& name);

/// Numbered examples in random order, by (seed, epoch), batch by batch, each made when it is asked for. More than some
/// million are shuffled a million at a time, of which each comes from all over, so that the order of a text larger than
/// memory takes little of it.
class ShuffledBatches {
 public:
  /// Batches are numbered from 0; the last of them may be smaller.
  int64_t size() const;
  /// The examples of a batch. Not from several threads at once.
  std::vector<int64_t> operator[](int64_t batch) const;

  /// What the number n of an example stands for: first + n step.
  struct Places {
    int64_t first = 0, step = 1;
  };
  /// `draws` has given nothing yet but what chose the places. Error (config) unless batch is at least 1.
  ShuffledBatches(int64_t examples, int64_t batch, const Generator& draws, Places places);

 private:
  int64_t pool_begin(int64_t pool) const;
  void shuffle_pool(int64_t pool) const;

  int64_t examples_, batch_, pool_size_, stride_ = 1;
  Generator draws_;
  Places places_;
  mutable int64_t shuffled_ = -1;            // the pool whose order this is
  mutable std::vector<int64_t> order_ = {};  // of its examples
};

/// All of `examples` in batches for one epoch. Errors as plan_windows.
ShuffledBatches plan_shuffled(int64_t examples, int64_t batch, uint64_t seed, int64_t epoch);

/// A stretch of a long text: the model reads tokens [start, start + length) and says [start + 1, start + length + 1).
struct Window {
  int64_t start = 0;
  int64_t length = 0;
  friend bool operator==(const Window&, const Window&) = default;
};

/// Batches of starts of windows of `context` tokens, for one epoch over a text of `tokens`: windows side by side from a
/// first start drawn in [0, context), in random order, both by (seed, epoch).
///
/// Errors of this and the next: ErrorKind::config when context or batch is below 1, for a negative epoch or step, and
/// for a text of fewer than context + 1 tokens.
ShuffledBatches plan_windows(int64_t tokens, int64_t context, int64_t batch, uint64_t seed, int64_t epoch);

/// Starts of `batch` windows, each uniform over the text, for one training step: how nanoGPT samples. Depends on
/// (seed, step) alone.
std::vector<int64_t> random_windows(int64_t tokens, int64_t context, int64_t batch, uint64_t seed, int64_t step);

/// Windows side by side that have every token but the first as a target once, the last as long as is left: for
/// validation. None for a text of fewer than 2 tokens.
int64_t count_cover_windows(int64_t tokens, int64_t context);
/// One of them, by its number.
Window cover_window(int64_t tokens, int64_t context, int64_t number);

}  // namespace tape::text
