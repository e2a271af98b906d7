#pragma once

#include <string>

#include "../../text/corpus/corpus.h"

namespace tape::train {

/// Sentences and their translations: two files aligned by line, one file with `source TAB target` lines, or one file of
/// records.
struct ParallelFiles {
  std::string src = {}, tgt = {};
  std::string tsv = {};      ///< instead of both
  std::string records = {};  ///< instead of the above: JSON Lines, CSV or TSV, by file extension
  text::PairFields fields = {};
};

/// Reads them; `what` names the data set in errors ("training"). Throws Error (config) unless exactly one kind of file
/// is given; otherwise as the readers in text/corpus.h.
text::ParallelCorpus read_parallel_files(const ParallelFiles& files, const char* what);

/// The file to name in messages.
std::string name_of(const ParallelFiles& files);

}  // namespace tape::train
