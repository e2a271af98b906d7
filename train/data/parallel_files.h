#pragma once

#include <string>

#include "../../text/corpus.h"

namespace tape::train {

/// Sentences and their translations: two files whose lines belong together, one with `source TAB target` lines, or one
/// of records.
struct ParallelFiles {
  std::string src = {}, tgt = {};
  std::string tsv = {};      ///< instead of both
  std::string records = {};  ///< instead of all of these: JSON Lines, CSV or TSV by the end of its name
  text::PairFields fields = {};
};

/// Reads them; `what` names the set in errors ("training"). Error (config) unless exactly one kind of file is given;
/// else as the readers in text/corpus.h.
text::ParallelCorpus read_parallel_files(const ParallelFiles& files, const char* what);

/// The file that messages name.
std::string name_of(const ParallelFiles& files);

}  // namespace tape::train
