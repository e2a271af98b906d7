#include "models/decoding/beam.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/create.h"
#include "autograd/ops/index/order.h"
#include "autograd/ops/reduce/reduce.h"
#include "base/check.h"
#include "models/decoding/decoder_rows.h"
#include "models/decoding/generation_batch.h"

namespace tape::models {
namespace {

void check(const BeamOptions& o, int64_t rows) {
  check_at_least_one("beam_search", {{"beams", o.beams}, {"max_length", o.max_length}});
  if (o.n_best < 1 || o.n_best > o.beams)
    raise(ErrorKind::config, "beam_search: n_best must be from 1 to beams, got {} (beams {})", o.n_best, o.beams);
  if (o.min_length < 0 || (o.max_lengths.empty() && o.min_length > o.max_length))
    raise(ErrorKind::config, "beam_search: min_length must be from 0 to max_length, got {} (max_length {})",
          o.min_length, o.max_length);
  if (!o.max_lengths.empty() && std::ssize(o.max_lengths) != rows)
    raise(ErrorKind::config, "beam_search: max_lengths must have one entry per source row, got {} for {}",
          o.max_lengths.size(), rows);
  for (const int64_t length : o.max_lengths)
    if (length < std::max<int64_t>(1, o.min_length))
      raise(ErrorKind::config, "beam_search: max_lengths must be at least 1 and min_length, got {} (min_length {})",
            length, o.min_length);
  if (o.no_repeat_ngram < 0)
    raise(ErrorKind::config, "beam_search: no_repeat_ngram must be at least 0 (0: none), got {}", o.no_repeat_ngram);
  if (!std::isfinite(o.length_penalty))
    raise(ErrorKind::config, "beam_search: length_penalty must be finite, got {}", o.length_penalty);
}

/// A running sequence extended by one token.
struct Candidate {
  int64_t beam = 0;
  int64_t token = 0;
  double sum = 0;  // of log probabilities
};

/// Whether each step needs only the likeliest token.
bool is_greedy(const BeamOptions& o) {
  return !o.scores && o.beams == 1 && o.min_length == 0 && o.no_repeat_ngram == 0;
}

/// The search for one source row.
class Search {
 public:
  struct Running {
    std::vector<int64_t> tokens;
    double sum = 0;
    int64_t origin = 0;  // beam of the previous step
  };

  Search(const BeamOptions& options, int64_t max_length) : options_(&options), max_length_(max_length), running_(1) {}

  bool ended() const { return ended_; }
  /// Best first; not empty until the search has ended.
  const std::vector<Running>& running() const { return running_; }
  int64_t beams() const { return std::ssize(running_); }

  /// Takes one step. `candidates` are the best continuations of all running sequences, best first: twice as many as
  /// beams if available, so that enough continue even if all others end.
  void extend(const std::vector<Candidate>& candidates) {
    const int64_t length = std::ssize(running_.front().tokens) + 1;
    std::vector<Running> next;
    for (int64_t place = 0; place < std::ssize(candidates); ++place) {
      const Candidate& c = candidates[static_cast<size_t>(place)];
      const bool at_end = c.token == options_->eos;
      if (at_end || length == max_length_) {
        if (place < options_->beams) finish(c, at_end, length);
      } else if (std::ssize(next) < options_->beams) {
        next.push_back({running_[static_cast<size_t>(c.beam)].tokens, c.sum, c.beam});
        next.back().tokens.push_back(c.token);
      }
    }
    running_ = std::move(next);
    ended_ = running_.empty() ||
             (std::ssize(finished_) == options_->beams &&
              (options_->early_stopping || !(score(running_.front().sum, length) > finished_.back().score)));
  }

  /// Whether the next token is the last one allowed.
  bool at_last() const { return std::ssize(running_.front().tokens) + 1 == max_length_; }
  /// All running sequences extended by eos, best first.
  std::vector<Candidate> ends() const {
    std::vector<Candidate> all;
    for (int64_t beam = 0; beam < beams(); ++beam)
      all.push_back({beam, options_->eos, running_[static_cast<size_t>(beam)].sum});
    return all;
  }

  std::vector<BeamHypothesis> best() {
    if (std::ssize(finished_) > options_->n_best) finished_.resize(static_cast<size_t>(options_->n_best));
    return std::move(finished_);
  }

 private:
  double score(double sum, int64_t length) const {
    return sum / std::pow(static_cast<double>(length), options_->length_penalty);
  }

  void finish(const Candidate& c, bool at_end, int64_t length) {
    BeamHypothesis found{running_[static_cast<size_t>(c.beam)].tokens, score(c.sum, length), length};
    if (!at_end) found.tokens.push_back(c.token);
    const auto place = std::find_if(finished_.begin(), finished_.end(),
                                    [&](const BeamHypothesis& other) { return found.score > other.score; });
    finished_.insert(place, std::move(found));
    if (std::ssize(finished_) > options_->beams) finished_.pop_back();
  }

  const BeamOptions* options_;
  int64_t max_length_;
  std::vector<Running> running_;
  std::vector<BeamHypothesis> finished_;  // best first
  bool ended_ = false;
};

/// Rows of the model's batch: `width` for each source row still being searched, one per running sequence. A source row
/// with fewer sequences repeats its last one.
class Rows {
 public:
  Rows(EncoderDecoder& model, const Tensor& src, const BeamOptions& options)
      : options_(options), decoder_(model, src, options.use_cache) {
    for (int64_t row = 0; row < src.size(0); ++row) sources_.push_back(row);
    tokens_ = full({src.size(0), 1}, options_.bos, i64);
  }

  /// Source rows in the batch.
  const std::vector<int64_t>& sources() const { return sources_; }
  int64_t width() const { return width_; }

  /// Logits [rows, V] of the next tokens.
  Tensor logits() { return decoder_.next_logits(tokens_); }
  TopK likeliest() { return decoder_.next_likeliest(tokens_, options_.vocabulary); }

  /// Tokens that would repeat an n-gram, per row.
  std::vector<std::vector<int64_t>> repeats(const std::vector<Search>& searches) const {
    std::vector<std::vector<int64_t>> found(sources_.size() * static_cast<size_t>(width_));
    if (options_.no_repeat_ngram == 0) return found;
    for (size_t place = 0; place < sources_.size(); ++place) {
      const Search& search = searches[static_cast<size_t>(sources_[place])];
      if (search.ended()) continue;
      for (size_t beam = 0; beam < search.running().size(); ++beam) {
        std::vector<int64_t> generated{options_.bos};
        const std::vector<int64_t>& tokens = search.running()[beam].tokens;
        generated.insert(generated.end(), tokens.begin(), tokens.end());
        found[place * static_cast<size_t>(width_) + beam] = repeating_tokens(generated, options_.no_repeat_ngram);
      }
    }
    return found;
  }

  /// Continues with the running sequences. Drops source rows whose search has ended once they are a quarter of all.
  void follow(const std::vector<Search>& searches) {
    const auto ended = [&](int64_t source) { return searches[static_cast<size_t>(source)].ended(); };
    const bool leave = 4 * std::count_if(sources_.begin(), sources_.end(), ended) >= std::ssize(sources_);
    std::vector<int64_t> places, rows;
    int64_t width = 1;
    for (int64_t place = 0; place < std::ssize(sources_); ++place) {
      const int64_t source = sources_[static_cast<size_t>(place)];
      if (ended(source) && leave) continue;
      places.push_back(place);
      width = std::max(width, searches[static_cast<size_t>(source)].beams());
    }
    if (places.empty()) return sources_.clear();
    std::vector<int64_t> next;
    for (const int64_t place : places) {
      const Search& search = searches[static_cast<size_t>(sources_[static_cast<size_t>(place)])];
      for (int64_t beam = 0; beam < width; ++beam) {
        const int64_t running = std::min(beam, search.beams() - 1);
        const auto* from = search.ended() ? nullptr : &search.running()[static_cast<size_t>(running)];
        rows.push_back(place * width_ + (from ? from->origin : 0));
        // The rows of an ended search are computed, but their output is ignored.
        if (!options_.use_cache) append_earlier(from, next);
        next.push_back(from ? from->tokens.back() : options_.bos);
      }
    }
    if (places.size() < sources_.size()) keep_sources(places);
    decoder_.select(rows);
    width_ = width;
    tokens_ = from_vector(next, {std::ssize(rows), std::ssize(next) / std::ssize(rows)});
  }

 private:
  void append_earlier(const Search::Running* from, std::vector<int64_t>& to) const {
    to.push_back(options_.bos);
    if (from)
      to.insert(to.end(), from->tokens.begin(), from->tokens.end() - 1);
    else
      to.insert(to.end(), static_cast<size_t>(tokens_.size(1) - 1), options_.bos);
  }

  void keep_sources(const std::vector<int64_t>& places) {
    decoder_.keep_sources(places);
    std::vector<int64_t> kept;
    kept.reserve(places.size());
    for (const int64_t place : places) kept.push_back(sources_[static_cast<size_t>(place)]);
    sources_ = std::move(kept);
  }

  const BeamOptions& options_;
  DecoderRows decoder_;
  std::vector<int64_t> sources_;
  int64_t width_ = 1;
  Tensor tokens_;  // [rows, 1], or [rows, T] without a cache
};

/// The best tokens of each row and their log probabilities.
class Continuations {
 public:
  /// Only the likeliest token, with a log probability of 0.
  explicit Continuations(const TopK& likeliest)
      : of_rows_(static_cast<size_t>(likeliest.indices.numel())),
        count_(1),
        tokens_(likeliest.indices.to_vector<int64_t>()),
        values_(likeliest.values.to(f64).to_vector<double>()),
        totals_(values_) {}
  /// Chooses ids below `known`, except those in `hidden` and in the row's entry of `of_rows`.
  Continuations(const Tensor& logits, int64_t beams, int64_t known, std::vector<int64_t> hidden,
                std::vector<std::vector<int64_t>> of_rows)
      : known_(known), hidden_(std::move(hidden)), of_rows_(std::move(of_rows)) {
    const int64_t vocabulary = logits.size(-1);
    int64_t most = 0;
    for (const std::vector<int64_t>& of_row : of_rows_) most = std::max<int64_t>(most, std::ssize(of_row));
    // Fetch enough that the allowed ones are included even if all excluded ones rank above them.
    count_ = std::min(vocabulary, 2 * std::min(beams, vocabulary) + std::ssize(hidden_) + most + vocabulary - known);
    const TopK best = topk(logits, count_);
    tokens_ = best.indices.to_vector<int64_t>();
    values_ = best.values.to(f64).to_vector<double>();
    totals_ = logsumexp(logits, {-1}).to(f64).to_vector<double>();
  }

  /// The best continuations of the sequences in rows [first, first + running.size()), best first.
  std::vector<Candidate> best(int64_t first, const std::vector<Search::Running>& running, int64_t beams) const {
    std::vector<Candidate> all;
    for (int64_t beam = 0; beam < std::ssize(running); ++beam)
      for (int64_t i = 0; i < count_; ++i) {
        const size_t row = static_cast<size_t>(first + beam),
                     at = row * static_cast<size_t>(count_) + static_cast<size_t>(i);
        const double sum = running[static_cast<size_t>(beam)].sum + values_[at] - totals_[row];
        const auto is_among = [&](const std::vector<int64_t>& ids) { return std::ranges::count(ids, tokens_[at]) > 0; };
        if (std::isfinite(sum) && tokens_[at] < known_ && !is_among(hidden_) && !is_among(of_rows_[row]))
          all.push_back({beam, tokens_[at], sum});
      }
    std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.sum > b.sum; });
    if (std::ssize(all) / 2 >= beams) all.resize(static_cast<size_t>(2 * beams));
    return all;
  }

 private:
  int64_t known_ = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> hidden_;
  std::vector<std::vector<int64_t>> of_rows_;
  int64_t count_;
  std::vector<int64_t> tokens_;          // [rows, count]
  std::vector<double> values_, totals_;  // [rows, count], [rows]
};

}  // namespace

std::vector<std::vector<BeamHypothesis>> beam_search(EncoderDecoder& model, const Tensor& src,
                                                     const BeamOptions& options) {
  const DeviceScope on_model(model.device());
  check(options, src.size(0));
  const int64_t tgt_vocab = model.options().tgt_vocab;
  if (options.forced_bos && (*options.forced_bos < 0 || *options.forced_bos >= tgt_vocab))
    raise(ErrorKind::index, "beam_search: forced_bos {} is not in 0..{}", *options.forced_bos, tgt_vocab - 1);
  if (options.vocabulary < 0 || options.vocabulary > tgt_vocab)
    raise(ErrorKind::config, "beam_search: vocabulary must be from 0 to the model's {}, got {}", tgt_vocab,
          options.vocabulary);
  const NoGrad no_grad;
  std::vector<Search> searches;
  for (size_t row = 0; row < static_cast<size_t>(src.size(0)); ++row)
    searches.emplace_back(options, options.max_lengths.empty() ? options.max_length : options.max_lengths[row]);
  Rows rows(model, src, options);
  // Padding must not be generated: later positions would not see it.
  std::vector<int64_t> hidden{model.options().padding_id};
  for (int64_t length = 0; !rows.sources().empty(); ++length) {
    hidden.resize(1);
    if (length < options.min_length) hidden.push_back(options.eos);
    const Continuations continuations =
        is_greedy(options)
            ? Continuations(rows.likeliest())
            : Continuations(rows.logits(), options.beams, options.vocabulary > 0 ? options.vocabulary : tgt_vocab,
                            hidden, rows.repeats(searches));
    int64_t first = 0;
    for (const int64_t source : rows.sources()) {
      Search& search = searches[static_cast<size_t>(source)];
      if (!search.ended()) {
        if (options.forced_eos && search.at_last())
          search.extend(search.ends());
        else if (length == 0 && options.forced_bos)
          search.extend({{.token = *options.forced_bos}});
        else
          search.extend(continuations.best(first, search.running(), options.beams));
      }
      first += rows.width();
    }
    rows.follow(searches);
  }
  std::vector<std::vector<BeamHypothesis>> found;
  found.reserve(searches.size());
  for (Search& search : searches) found.push_back(search.best());
  return found;
}

}  // namespace tape::models
