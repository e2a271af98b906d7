#include "text/corpus/corpus.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/number_text.h"
#include "text/corpus/corpus_file.h"
#include "text/corpus/line_reader.h"

namespace tape::text {
namespace {

void skip_empty(ParallelCorpus& corpus, const std::string& file) {
  const auto count = [](const char* name, int64_t n) {
    return n == 0 ? std::string() : fmt::format(", {} {}", name, grouped(n));
  };
  const int64_t skipped = corpus.empty_source + corpus.empty_target + corpus.empty_both;
  if (corpus.size() == 0)
    raise(ErrorKind::config, "{}: {}", file, skipped == 0 ? "the file is empty" : "every pair has an empty side");
  if (skipped == 0) return;
  const std::string reasons =
      fmt::format("{}{}{}", count("empty source", corpus.empty_source), count("empty target", corpus.empty_target),
                  count("both empty", corpus.empty_both));
  corpus.notes.push_back(
      fmt::format("{}: {} of {} pairs skipped: {}", file, grouped(skipped), grouped(corpus.pairs), reasons.substr(2)));
}

/// Adds a pair, or counts it if a side is empty.
void add_pair(ParallelCorpus& corpus, const std::string& source, const std::string& target, int64_t line) {
  ++corpus.pairs;
  const bool no_source = is_empty(source), no_target = is_empty(target);
  if (no_source && no_target) {
    ++corpus.empty_both;
  } else if (no_source) {
    ++corpus.empty_source;
  } else if (no_target) {
    ++corpus.empty_target;
  } else {
    corpus.source.push_back(source);
    corpus.target.push_back(target);
    corpus.line.push_back(line);
  }
}

}  // namespace

Lines read_lines(const std::string& file) {
  LineReader reader(file);
  Lines out;
  out.file = file;
  while (const auto line = reader.next()) out.lines.emplace_back(*line);
  out.byte_order_mark = reader.byte_order_mark();
  out.crlf_lines = reader.crlf_lines();
  out.nul_lines = reader.nul_lines();
  out.notes = reader.notes();
  return out;
}

ParallelCorpus read_parallel(const std::string& source_file, const std::string& target_file) {
  LineReader sources(source_file), targets(target_file);
  ParallelCorpus corpus;
  for (;;) {
    const auto source = sources.next(), target = targets.next();
    if (!source && !target) break;
    if (source && target) add_pair(corpus, std::string(*source), std::string(*target), sources.number());
  }
  if (sources.number() != targets.number())
    raise(ErrorKind::format, "{} has {}, {} has {}: both need one line per pair", source_file,
          counted(sources.number(), "line"), target_file, grouped(targets.number()));
  corpus.notes = sources.notes();
  for (const std::string& note : targets.notes()) corpus.notes.push_back(note);
  skip_empty(corpus, source_file);
  return corpus;
}

ParallelCorpus read_parallel_tsv(const std::string& file) {
  LineReader lines(file);
  ParallelCorpus corpus;
  while (const auto line = lines.next()) {
    const auto tabs = std::ranges::count(*line, '\t');
    // An empty line is an empty pair, as with two files.
    if (tabs != 1 && !line->empty())
      raise(ErrorKind::format, "{}: line {}: {}, expected 2: source TAB target", file, lines.number(),
            counted(tabs + 1, "field"));
    const size_t tab = std::min(line->find('\t'), line->size());
    add_pair(corpus, std::string(line->substr(0, tab)), std::string(line->substr(std::min(tab + 1, line->size()))),
             lines.number());
  }
  corpus.notes = lines.notes();
  skip_empty(corpus, file);
  return corpus;
}

ParallelCorpus read_parallel_records(const std::string& file, RecordFormat format, const PairFields& fields) {
  const std::unique_ptr<RecordReader> records = RecordReader::open(file, format);
  ParallelCorpus corpus;
  while (records->next()) {
    const std::string source = records->text(fields.source), target = records->text(fields.target);
    add_pair(corpus, source, target, records->line());
  }
  corpus.notes = records->notes();
  skip_empty(corpus, file);
  return corpus;
}

}  // namespace tape::text
