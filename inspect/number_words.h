#pragma once

#include <iosfwd>
#include <vector>

#include "../train/tasks/number_words.h"

namespace tape::inspect {

/// Writes what a model makes of the given numbers: each in German, its translation, and the right one where they
/// differ.
void show_translations(train::NumberWordsModel& model, const std::vector<int64_t>& numbers, std::ostream& out);

/// Writes a picture of where the decoder looks in the German word while it writes the English one: the last layer's
/// cross-attention, mean of its heads.
void show_attention(train::NumberWordsModel& model, int64_t number, std::ostream& out, const TerminalInfo& terminal);

}  // namespace tape::inspect
