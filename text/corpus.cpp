#include "text/corpus.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/number_text.h"
#include "text/corpus_file.h"

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

/// Keeps a pair of which neither side is empty, counts the others.
void add_pair(ParallelCorpus& corpus, std::string source, std::string target) {
  ++corpus.pairs;
  const bool no_source = is_empty(source), no_target = is_empty(target);
  if (no_source && no_target) {
    ++corpus.empty_both;
  } else if (no_source) {
    ++corpus.empty_source;
  } else if (no_target) {
    ++corpus.empty_target;
  } else {
    corpus.source.push_back(std::move(source));
    corpus.target.push_back(std::move(target));
    corpus.line.push_back(corpus.pairs);
  }
}

}  // namespace

Lines read_lines(const std::string& file) {
  Lines out;
  out.file = file;
  std::string content = read_text(file);
  check_not_utf16(content, file);
  std::string_view rest = content;
  if (rest.starts_with("\xEF\xBB\xBF")) {
    out.byte_order_mark = true;
    rest.remove_prefix(3);
  }
  int64_t first_nul = 0;
  for (int64_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    check_utf8(line, file, number, static_cast<int64_t>(line.data() - content.data()));
    if (end < rest.size() && line.ends_with('\r')) {
      ++out.crlf_lines;
      line.remove_suffix(1);
    }
    if (line.find('\0') != std::string_view::npos && out.nul_lines++ == 0) first_nul = number;
    out.lines.emplace_back(line);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (out.byte_order_mark) out.notes.push_back(fmt::format("{}: byte order mark removed", file));
  if (out.crlf_lines > 0)
    out.notes.push_back(fmt::format("{}: carriage returns removed from {} of {}", file, grouped(out.crlf_lines),
                                    counted(static_cast<int64_t>(out.lines.size()), "line")));
  if (out.nul_lines > 0)
    out.notes.push_back(fmt::format("{}: NUL characters in {}, the first in line {}; kept", file,
                                    counted(out.nul_lines, "line"), first_nul));
  return out;
}

ParallelCorpus read_parallel(const std::string& source_file, const std::string& target_file) {
  Lines source = read_lines(source_file), target = read_lines(target_file);
  if (source.lines.size() != target.lines.size())
    raise(ErrorKind::format, "{} has {}, {} has {}: line by line they must belong together", source_file,
          counted(static_cast<int64_t>(source.lines.size()), "line"), target_file,
          grouped(static_cast<int64_t>(target.lines.size())));
  ParallelCorpus corpus;
  corpus.notes = std::move(source.notes);
  corpus.notes.insert(corpus.notes.end(), target.notes.begin(), target.notes.end());
  for (size_t i = 0; i < source.lines.size(); ++i)
    add_pair(corpus, std::move(source.lines[i]), std::move(target.lines[i]));
  skip_empty(corpus, source_file);
  return corpus;
}

ParallelCorpus read_parallel_tsv(const std::string& file) {
  Lines lines = read_lines(file);
  ParallelCorpus corpus;
  corpus.notes = std::move(lines.notes);
  for (size_t i = 0; i < lines.lines.size(); ++i) {
    const std::string_view line = lines.lines[i];
    const auto tabs = std::ranges::count(line, '\t');
    // A line without anything is an empty pair, as in two files.
    if (tabs != 1 && !line.empty())
      raise(ErrorKind::format, "{}: line {}: {}, expected 2: source TAB target", file, i + 1,
            counted(tabs + 1, "field"));
    const size_t tab = std::min(line.find('\t'), line.size());
    add_pair(corpus, std::string(line.substr(0, tab)), std::string(line.substr(std::min(tab + 1, line.size()))));
  }
  skip_empty(corpus, file);
  return corpus;
}

std::string read_plain_text(const std::string& file, std::vector<std::string>* notes) {
  std::string text = read_text(file);
  check_not_utf16(text, file);
  int64_t number = 1;
  for (size_t begin = 0; begin < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    check_utf8(std::string_view(text).substr(begin, end - begin), file, number, static_cast<int64_t>(begin));
    begin = end + 1;
  }
  const auto note = [&](std::string sentence) {
    if (notes != nullptr) notes->push_back(std::move(sentence));
  };
  if (text.starts_with("\xEF\xBB\xBF")) {
    text.erase(0, 3);
    note(fmt::format("{}: byte order mark removed", file));
  }
  if (text.find("\r\n") != std::string::npos) {
    size_t kept = 0;
    for (size_t i = 0; i < text.size(); ++i)
      if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') text[kept++] = text[i];
    note(fmt::format("{}: carriage returns removed from {}", file,
                     counted(static_cast<int64_t>(text.size() - kept), "line")));
    text.resize(kept);
  }
  if (const auto nuls = std::ranges::count(text, '\0'); nuls > 0)
    note(fmt::format("{}: {}; kept", file, counted(nuls, "NUL character")));
  if (text.empty()) raise(ErrorKind::config, "{}: the file is empty", file);
  return text;
}

SplitText read_split_text(const std::string& file, double valid_fraction) {
  if (!(valid_fraction > 0 && valid_fraction < 1))
    raise(ErrorKind::config, "{}: valid_fraction must be between 0 and 1, got {}", file, valid_fraction);
  SplitText out;
  out.train = read_plain_text(file, &out.notes);
  const auto begins_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  const auto characters = std::ranges::count_if(out.train, begins_character);
  const auto train = static_cast<int64_t>(std::floor(static_cast<double>(characters) * (1 - valid_fraction)));
  if (train == 0 || train == characters)
    raise(ErrorKind::config, "{}: too short to keep a fraction of {} for validation: {}", file, valid_fraction,
          counted(characters, "character"));
  size_t cut = 0;
  for (int64_t passed = 0;; ++cut)
    if (begins_character(out.train[cut]) && passed++ == train) break;
  out.valid = out.train.substr(cut);
  out.train.resize(cut);
  return out;
}

}  // namespace tape::text
