#pragma once

#include <memory>
#include <string>

#include "../../text/corpus/long_list.h"
#include "communicator.h"

namespace tape::train {

/// Writes the members of a data structure in sequence.
class PartWriter {
 public:
  explicit PartWriter(const Writer& write) : write_(write) {}

  template <class T>
  void operator()(const LongList<T>& list) const {
    list.write(write_);
  }
  /// A value that is held in memory.
  template <class T>
  void operator()(const T& value) const {
    std::string packed;
    append_packed(packed, value);
    (*this)(LongList<std::string>{packed});
  }

 private:
  const Writer& write_;
};

/// Reads them: list elements on access, everything else at once.
class PartReader {
 public:
  explicit PartReader(const std::string& file) : file_(std::make_shared<const InputFile>(file)) {}

  template <class T>
  void operator()(LongList<T>& list) {
    list = LongList<T>::open(file_, at_);
  }
  template <class T>
  void operator()(T& value) {
    LongList<std::string> list;
    (*this)(list);
    const std::string packed = list[0];
    std::string_view rest = packed;
    take_packed(rest, value);
  }

 private:
  std::shared_ptr<const InputFile> file_;
  int64_t at_ = 0;
};

/// Makes data on rank 0 and shares it with all ranks. Only rank 0 reads and encodes a corpus; it writes a file that all
/// ranks can see, from which each reads what it needs.
///
///     struct Examples {
///       LongList<std::vector<int64_t>> ids;
///       std::vector<std::string> labels;
///
///       void parts(auto&& each) { each(ids), each(labels); }
///     };
///     const auto examples = shared_data<Examples>(ranks, file, [&] { return encoded(corpus); });
///
/// A single process writes no file. Throws Error (io) if the file cannot be written or read.
template <class Data, class Make>
Data shared_data(Communicator& ranks, const std::string& file, Make&& make) {
  if (ranks.size() == 1) return make();
  if (ranks.is_root()) {
    Data made = make();
    write_file(file, [&](const Writer& write) { made.parts(PartWriter(write)); });
  }
  barrier(ranks);
  Data data;
  data.parts(PartReader(file));
  return data;
}

}  // namespace tape::train
