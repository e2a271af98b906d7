#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "long_list.h"
#include "record_reader.h"

/// Readers of training text. Files are UTF-8. Byte order marks and the carriage returns of CRLF are removed, NUL
/// characters are kept, and all are counted in `notes`: messages for the user that begin with the file name. Nothing is
/// dropped silently.
///
/// All readers throw Error (io) for a file that cannot be read; Error (format) with file, line and byte for invalid
/// UTF-8 and for UTF-16 with or without a byte order mark; and Error (config) for a file with nothing to read (except
/// read_lines, which accepts an empty file).
///
/// The texts of a corpus are LongLists, so it may be larger than memory.
namespace tape::text {

/// Lines of a text file.
struct Lines {
  std::string file;                ///< path, as given to read_lines()
  std::vector<std::string> lines;  ///< without line feeds; the last line need not end with one
  bool byte_order_mark = false;    ///< whether the file began with one
  int64_t crlf_lines = 0;          ///< lines that ended with CRLF
  int64_t nul_lines = 0;           ///< lines with a NUL character
  std::vector<std::string> notes;  ///< messages about what was removed or is unusual, empty if nothing
};

/// Reads a whole file as lines, which end with LF or CRLF.
Lines read_lines(const std::string& file);

/// Aligned sentences and translations, none of them empty.
struct ParallelCorpus {
  LongList<std::string> source,    ///< source sentences
      target;                      ///< their translations, in the same order
  std::vector<int64_t> line;       ///< line number of each pair in its file, from 1
  int64_t pairs = 0;               ///< pairs in the file, including skipped ones
  int64_t empty_source = 0;        ///< pairs skipped because only the source is blank
  int64_t empty_target = 0;        ///< pairs skipped because only the target is blank
  int64_t empty_both = 0;          ///< pairs skipped because both are blank
  std::vector<std::string> notes;  ///< "train.de: 3 of 29,000 pairs skipped: empty source 2, empty target 1"

  /// Number of pairs, without skipped ones.
  int64_t size() const { return static_cast<int64_t>(source.size()); }
};

/// Pairs up the lines of two files. Throws Error (format) with both counts if they differ.
ParallelCorpus read_parallel(const std::string& source_file, const std::string& target_file);

/// Reads one `source TAB target` pair per line. Throws Error (format) for a line with another number of fields.
ParallelCorpus read_parallel_tsv(const std::string& file);

/// Names of the record fields for the two sides.
struct PairFields {
  std::string source = "source",  ///< field of the source sentence
      target = "target";          ///< field of the translation
};

/// Reads one pair per record. Also throws the errors of RecordReader.
ParallelCorpus read_parallel_records(const std::string& file, RecordFormat format, const PairFields& fields = {});

}  // namespace tape::text
