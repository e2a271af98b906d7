// Unicode normalization forms (Unicode Standard Annex 15), with the origin of each character.
#include <algorithm>

#include "text/tokenizers/patterns/unicode.h"
#include "text/tokenizers/steps/normalizer.h"

namespace tape::text {
namespace {

struct Placed {
  char32_t point;
  int combining;  // combining class
  int change;     // as in tokenizers: 0 replaces a source character, 1 is inserted, -n replaces n + 1
};

/// Assigns origins to the output characters in order, as tokenizers counts them: a reordered mark gets the origin of
/// its new position.
class Places {
 public:
  explicit Places(Rewriter& rewrite) : rewrite_(rewrite) {}

  char32_t read() {
    const char32_t point = rewrite_.take().point;
    read_.push_back(rewrite_.from());
    return point;
  }
  void write(const Placed& placed) {
    std::string bytes;
    append_utf8(placed.point, bytes);
    const auto at = [this](size_t i) { return read_.empty() ? Range{} : read_[std::min(i, read_.size() - 1)]; };
    if (placed.change > 0) return rewrite_.put(bytes, next_ == 0 ? Range{} : at(next_ - 1));
    rewrite_.put(bytes, at(next_));
    next_ += static_cast<size_t>(1 - placed.change);
  }

 private:
  Rewriter& rewrite_;
  std::vector<Range> read_;
  size_t next_ = 0;
};

class UnicodeNormalizer {
 public:
  explicit UnicodeNormalizer(UnicodeForm form)
      : compatibility_(form == UnicodeForm::nfkd || form == UnicodeForm::nfkc),
        composed_(form == UnicodeForm::nfc || form == UnicodeForm::nfkc) {}

  void operator()(Normalized& text) const {
    if (std::all_of(text.text.begin(), text.text.end(), [](char c) { return static_cast<unsigned char>(c) < 128; }))
      return;
    Rewriter rewrite(text);
    Places places(rewrite);
    std::vector<Placed> run;  // from one starter to the next, and beyond while they may compose
    while (!rewrite.done()) {
      const Decomposition parts = decompose(places.read(), compatibility_);
      for (size_t i = 0; i < parts.size; ++i)
        add({parts.points[i], combining_class(parts.points[i]), i > 0 ? 1 : 0}, run, places);
    }
    flush(run, places);
    rewrite.finish();
  }

 private:
  void add(const Placed& next, std::vector<Placed>& run, Places& places) const {
    if (next.combining == 0 && !run.empty()) {
      // A starter ends the run, unless it composes with a single preceding one (Hangul, a few Indic vowels).
      order(run);
      if (composed_) merge(run);
      const char32_t both = composed_ && run.size() == 1 ? compose(run[0].point, next.point) : 0;
      if (both != 0) {
        run[0] = {both, 0, run[0].change + next.change - 1};
        return;
      }
      flush(run, places);
    }
    run.push_back(next);
  }

  static void order(std::vector<Placed>& run) {
    const auto begin = run.begin() + (run[0].combining == 0 ? 1 : 0);
    std::stable_sort(begin, run.end(), [](const Placed& a, const Placed& b) { return a.combining < b.combining; });
  }

  /// Composes the starter with the following marks that are not blocked by one of the same or a higher class.
  static void merge(std::vector<Placed>& run) {
    if (run[0].combining != 0) return;
    size_t kept = 1;
    int last = 0;
    for (size_t i = 1; i < run.size(); ++i) {
      const bool free = kept == 1 || last < run[i].combining;
      const char32_t both = free ? compose(run[0].point, run[i].point) : 0;
      if (both != 0) {
        run[0].point = both;
        run[0].change += run[i].change - 1;
        continue;
      }
      last = run[i].combining;
      run[kept++] = run[i];
    }
    run.resize(kept);
  }

  void flush(std::vector<Placed>& run, Places& places) const {
    if (run.empty()) return;
    order(run);
    if (composed_) merge(run);
    for (const Placed& placed : run) places.write(placed);
    run.clear();
  }

  bool compatibility_, composed_;
};

}  // namespace

Normalizer unicode_normalizer(UnicodeForm form) { return UnicodeNormalizer(form); }

}  // namespace tape::text
