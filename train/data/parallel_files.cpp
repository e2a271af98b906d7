#include "train/data/parallel_files.h"

#include "base/error.h"

namespace tape::train {

text::ParallelCorpus read_parallel_files(const ParallelFiles& files, const char* what) {
  if (!files.records.empty()) {
    if (!files.src.empty() || !files.tgt.empty() || !files.tsv.empty())
      raise(ErrorKind::config, "train translation: {}: give records, two files or one TSV, not several", what);
    const auto format = text::record_format_of(files.records);
    if (!format)
      raise(ErrorKind::config, "train translation: {}: {} does not end with .jsonl, .ndjson, .csv or .tsv", what,
            files.records);
    return text::read_parallel_records(files.records, *format, files.fields);
  }
  if (!files.tsv.empty()) {
    if (!files.src.empty() || !files.tgt.empty())
      raise(ErrorKind::config, "train translation: {}: give two files or one TSV, not both", what);
    return text::read_parallel_tsv(files.tsv);
  }
  if (files.src.empty() || files.tgt.empty())
    raise(ErrorKind::config, "train translation: {}: give a source and a target file, one TSV, or one file of records",
          what);
  return text::read_parallel(files.src, files.tgt);
}

std::string name_of(const ParallelFiles& files) {
  return !files.records.empty() ? files.records : !files.tsv.empty() ? files.tsv : files.src;
}

}  // namespace tape::train
