#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "long_list.h"
#include "record_reader.h"

/// Reading of text to train on. Every file is UTF-8; a byte order mark and the carriage returns of CRLF are taken away,
/// NUL characters are kept, and each is counted and told in `notes`: sentences that begin with the file's name, for the
/// user to see. Nothing is left out in silence.
///
/// Errors of every reader: ErrorKind::io for a file that cannot be read; ErrorKind::format with file, line and byte for
/// invalid UTF-8, and for UTF-16 with or without a mark; ErrorKind::config for a file in which nothing is left to read
/// (only read_lines takes an empty file).
///
/// The texts of a corpus are LongLists: it may be larger than memory.
namespace tape::text {

struct Lines {
  std::string file;
  std::vector<std::string> lines;  ///< without their line feed; the last line needs none
  bool byte_order_mark = false;    ///< the file began with one
  int64_t crlf_lines = 0;          ///< lines that ended with CRLF
  int64_t nul_lines = 0;           ///< lines that hold a NUL character
  std::vector<std::string> notes;
};

/// A whole file as lines. Only LF and CRLF end a line.
Lines read_lines(const std::string& file);

/// Sentences and their translations, entry by entry; neither is empty.
struct ParallelCorpus {
  LongList<std::string> source, target;
  std::vector<int64_t> line;       ///< where each pair stood in its file, from 1
  int64_t pairs = 0;               ///< pairs in the file, those skipped included
  int64_t empty_source = 0;        ///< pairs skipped because the source has nothing but white space
  int64_t empty_target = 0;        ///< the same of the target only
  int64_t empty_both = 0;          ///< the same of both
  std::vector<std::string> notes;  ///< "train.de: 3 of 29,000 pairs skipped: empty source 2, empty target 1"

  int64_t size() const { return static_cast<int64_t>(source.size()); }
};

/// Line n of one file and line n of the other are a pair. Error (format) with both counts when they differ.
ParallelCorpus read_parallel(const std::string& source_file, const std::string& target_file);

/// One pair a line, `source TAB target`. Error (format) naming a line with another number of fields.
ParallelCorpus read_parallel_tsv(const std::string& file);

/// Where records have the two sides.
struct PairFields {
  std::string source = "source", target = "target";
};

/// One pair a record. Errors as RecordReader's besides.
ParallelCorpus read_parallel_records(const std::string& file, RecordFormat format, const PairFields& fields = {});

}  // namespace tape::text
