#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../autograd/random.h"
#include "../text/batch_plan.h"
#include "../text/tokenizer.h"

namespace tape::train {

/// Lines as ids.
struct EncodedLines {
  std::vector<std::vector<int64_t>> ids;
  std::vector<text::ExampleLength> lengths;
  int64_t cut = 0;      ///< lines that were longer than max_length
  std::string unknown;  ///< what the tokenizer has no token for, see UnknownTokens::note()

  /// What is told of lines of a file: how many were cut, and what is unknown.
  std::vector<std::string> notes(const std::string& file, int64_t max_length) const;
};

/// With the tokenizer's own tokens around them, cut to max_length tokens, which is counted.
EncodedLines encode_lines(std::span<const std::string> lines, const text::Tokenizer& tokenizer, int64_t max_length);

/// The same, but a longer line becomes several of at most max_length tokens, each with those tokens around it; `cut`
/// counts these lines. Error (config) where max_length leaves no room for a token of the line's own.
EncodedLines encode_parts(std::span<const std::string> lines, const text::Tokenizer& tokenizer, int64_t max_length);

/// Lines as a model takes them.
struct PaddedLines {
  std::vector<int64_t> ids, seen;  ///< [B, T]; seen is 0 at padding
  int64_t rows = 0, length = 0;    ///< B, T
};
PaddedLines pad_lines(const EncodedLines& lines, const std::vector<int64_t>& which, int64_t padding_id);

/// Takes about `fraction` of some places, drawn: of n places round(n fraction), but one is left. Marks those in
/// `taken`.
void take_places(std::vector<size_t> places, double fraction, Generator& draws, std::vector<bool>& taken);

/// Which of `count` lines validate. Error (config) naming `name` unless 0 < fraction < 1, and where that is no line.
std::vector<bool> lines_to_validate(size_t count, double fraction, uint64_t seed, const std::string& name);
/// Those checks alone.
void check_valid_fraction(double fraction, const std::string& name);
void check_some_taken(const std::vector<bool>& taken, double fraction, const std::string& name);

}  // namespace tape::train
