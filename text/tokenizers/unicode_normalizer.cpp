// The Unicode forms (Unicode Standard Annex 15), with the place that every character came from.
#include "text/tokenizers/unicode_normalizer.h"

#include <algorithm>

#include "text/tokenizers/unicode.h"

namespace tape::text {
namespace {

struct Placed {
  char32_t point;
  int combining;  // its class
  Range from;
};

class UnicodeNormalizer : public Normalizer {
 public:
  explicit UnicodeNormalizer(UnicodeForm form)
      : compatibility_(form == UnicodeForm::nfkd || form == UnicodeForm::nfkc),
        composed_(form == UnicodeForm::nfc || form == UnicodeForm::nfkc) {}

  void apply(Normalized& text) const override {
    if (std::all_of(text.text.begin(), text.text.end(), [](char c) { return static_cast<unsigned char>(c) < 128; }))
      return;
    Rewriter rewrite(text);
    std::vector<Placed> run;  // from one starter to the next, and on while they may compose
    while (!rewrite.done()) {
      const CodePoint point = decode_utf8(rewrite.rest());
      rewrite.take(point.length);
      const Decomposition parts = decompose(point.value, compatibility_);
      for (size_t i = 0; i < parts.size; ++i)
        add({parts.points[i], combining_class(parts.points[i]), rewrite.from()}, run, rewrite);
    }
    flush(run, rewrite);
    rewrite.finish();
  }

 private:
  void add(const Placed& next, std::vector<Placed>& run, Rewriter& rewrite) const {
    if (next.combining == 0 && !run.empty()) {
      // A starter ends the run, unless it composes with a lone one before it (Hangul, a few Indic vowels).
      order(run);
      if (composed_) merge(run);
      const char32_t both = composed_ && run.size() == 1 ? compose(run[0].point, next.point) : 0;
      if (both != 0) {
        run[0] = {both, 0, run[0].from};
        return;
      }
      flush(run, rewrite);
    }
    run.push_back(next);
  }

  static void order(std::vector<Placed>& run) {
    const auto begin = run.begin() + (run[0].combining == 0 ? 1 : 0);
    std::stable_sort(begin, run.end(), [](const Placed& a, const Placed& b) { return a.combining < b.combining; });
  }

  /// Composes the starter with the marks behind it that nothing of their class or a higher one blocks.
  static void merge(std::vector<Placed>& run) {
    if (run[0].combining != 0) return;
    size_t kept = 1;
    int last = 0;
    for (size_t i = 1; i < run.size(); ++i) {
      const bool free = kept == 1 || last < run[i].combining;
      const char32_t both = free ? compose(run[0].point, run[i].point) : 0;
      if (both != 0) {
        run[0].point = both;
        continue;
      }
      last = run[i].combining;
      run[kept++] = run[i];
    }
    run.resize(kept);
  }

  void flush(std::vector<Placed>& run, Rewriter& rewrite) const {
    if (run.empty()) return;
    order(run);
    if (composed_) merge(run);
    std::string bytes;
    for (const Placed& placed : run) {
      bytes.clear();
      append_utf8(placed.point, bytes);
      rewrite.put(bytes, placed.from);
    }
    run.clear();
  }

  bool compatibility_, composed_;
};

}  // namespace

NormalizerPtr unicode_normalizer(UnicodeForm form) { return std::make_unique<UnicodeNormalizer>(form); }

}  // namespace tape::text
