#include <algorithm>

#include "base/utf8.h"
#include "tests/fuzz/target.h"
#include "text/corpus/corpus.h"
#include "text/corpus/labeled.h"
#include "text/corpus/labeled_words.h"
#include "text/corpus/text_reader.h"

namespace tape::fuzz {
namespace {

void expect_good_pairs(const text::ParallelCorpus& corpus) {
  expect(corpus.source.size() == corpus.target.size() && corpus.source.size() == corpus.line.size(),
         "sides of different lengths");
  expect(corpus.size() + corpus.empty_source + corpus.empty_target + corpus.empty_both == corpus.pairs,
         "a pair is neither read nor counted");
  for (const std::string& text : corpus.source) expect(!text.empty() && valid_utf8(text), "an empty or invalid source");
}

void expect_good_labels(const text::LabeledCorpus& corpus) {
  expect(corpus.sentences.size() == corpus.labels.size() && corpus.sentences.size() == corpus.line.size(),
         "sentences without labels");
  for (const int64_t label : corpus.labels)
    expect(label >= 0 && label < std::ssize(corpus.label_names), "label {} of {}", label, corpus.label_names.size());
}

void expect_good_words(const text::LabeledWords& corpus) {
  expect(corpus.words.size() == corpus.labels.size() && corpus.words.size() == corpus.line.size(),
         "sentences without labels");
  for (size_t i = 0; i < corpus.words.size(); ++i) {
    expect(!corpus.words[i].empty() && corpus.words[i].size() == corpus.labels[i].size(), "words without labels");
    for (const std::string& word : corpus.words[i])
      expect(!word.empty() && valid_utf8(word), "an empty or invalid word");
    for (const int64_t label : corpus.labels[i])
      expect(label >= 0 && label < std::ssize(corpus.label_names), "label {} of {}", label, corpus.label_names.size());
  }
}

std::string text_of_range(const std::string& path, text::CharacterRange range) {
  text::TextReader reader(path, range);
  std::string all;
  while (const auto piece = reader.next()) all += *piece;
  return all;
}

}  // namespace

/// A text file read as each kind of corpus: nothing is dropped silently.
void fuzz_corpora(Bytes bytes) {
  const std::string path = put_file(empty_folder() + "/corpus.txt", text_of(bytes));
  const auto lines = accepted([&] { return text::read_lines(path); });
  expect(!lines || valid_utf8(text_of(bytes)), "invalid UTF-8 is accepted");
  if (lines) {
    size_t size = 0;
    for (const std::string& line : lines->lines) size += line.size() + 1;
    size += static_cast<size_t>(lines->crlf_lines) + (lines->byte_order_mark ? 3 : 0);
    // Each line has a line feed, except possibly the last one.
    expect(size == bytes.size() || size == bytes.size() + 1, "{} bytes in lines of {}", size, bytes.size());
  }
  std::vector<std::string> notes;
  if (const auto characters = accepted([&] { return text::count_characters(path, notes); })) {
    const int64_t half = *characters / 2;
    expect(text_of_range(path, {.end = half}) + text_of_range(path, {.begin = half}) == text_of_range(path, {}),
           "two parts do not make the whole");
  }
  if (const auto pairs = accepted([&] { return text::read_parallel_tsv(path); })) expect_good_pairs(*pairs);
  if (const auto pairs = accepted([&] { return text::read_parallel(path, path); })) {
    expect_good_pairs(*pairs);
    expect(pairs->source == pairs->target, "a file differs from itself");
  }
  for (const auto format : {text::LabelFormat::sentence_tab_label, text::LabelFormat::label_space_sentence}) {
    const auto labeled = accepted([&] { return text::read_labeled(path, format); });
    if (!labeled) continue;
    expect_good_labels(*labeled);
    const text::LabeledCorpus again = text::read_labeled(path, format, labeled->label_names);
    expect(again.labels == labeled->labels && again.sentences == labeled->sentences,
           "the corpus differs when read with its labels");
  }
  if (const auto words = accepted([&] { return text::read_conll(path); })) {
    expect_good_words(*words);
    const text::LabeledWords again = text::read_conll(path, words->label_names);
    expect(again.labels == words->labels && again.words == words->words,
           "the words differ when read with their labels");
  }
}

}  // namespace tape::fuzz
