#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../../base/file.h"
#include "../../base/temporary_file.h"
#include "packed_values.h"

namespace tape {

/// Append-only bytes with random access: in memory up to a limit, then in a temporary file except for the newest. Or a
/// read-only range of an existing file.
class LongBytes {
 public:
  explicit LongBytes(int64_t max_in_memory) : most_(max_in_memory) {}
  LongBytes(std::shared_ptr<const InputFile> file, int64_t first, int64_t size)
      : most_(0), given_(std::move(file)), first_(first), given_size_(size) {}
  LongBytes(const LongBytes& other);
  LongBytes& operator=(const LongBytes& other);
  LongBytes(LongBytes&&) = default;
  LongBytes& operator=(LongBytes&&) = default;

  int64_t size() const { return given_ ? given_size_ : file_.size() + static_cast<int64_t>(newest_.size()); }
  void append(std::string_view bytes);
  /// Bytes [begin, end), which must come from one append() call. Thread-safe while nothing is appended.
  std::string read(int64_t begin, int64_t end) const;
  /// Writes all bytes, in blocks.
  void write(const Writer& write) const;

 private:
  int64_t most_;
  TemporaryFile file_;
  std::string newest_;  // bytes after those in file_
  std::shared_ptr<const InputFile> given_;
  int64_t first_ = 0, given_size_ = 0;
};

/// The end offsets of a list's elements, in a file after their count.
void write_ends(const std::vector<int64_t>& ends, const Writer& write);
std::vector<int64_t> read_ends(const InputFile& file, int64_t& at);

/// A list of strings, of ids, or of vectors of these, that may be larger than memory: some 8 bytes per element stay in
/// memory, and the elements move to a temporary file (TMPDIR) once they exceed 32 MiB. Elements are returned by value.
/// Reading is thread-safe while nothing is added. Throws Error (io) if the temporary file cannot be written.
///
/// open() opens a list that write() has written to a file, also from another process. Such a list is read-only and
/// reads its elements from that file on demand.
template <class T>
class LongList {
 public:
  using value_type = T;
  static constexpr int64_t kInMemory = 32 << 20;

  explicit LongList(int64_t max_in_memory = kInMemory) : bytes_(max_in_memory) {}
  LongList(std::initializer_list<T> values) : LongList() {
    for (const T& value : values) push_back(value);
  }
  /// Opens the list at byte `at` of a file and advances `at` past it. Throws Error (io) or (format) if the file is too
  /// short.
  static LongList open(const std::shared_ptr<const InputFile>& file, int64_t& at) {
    LongList list;
    list.ends_ = read_ends(*file, at);
    const int64_t size = list.ends_.empty() ? 0 : list.ends_.back();
    list.bytes_ = LongBytes(file, at, size);
    at += size;
    return list;
  }
  void write(const Writer& write) const {
    write_ends(ends_, write);
    bytes_.write(write);
  }

  void push_back(const T& value) {
    std::string packed;
    append_packed(packed, value);
    bytes_.append(packed);
    ends_.push_back(bytes_.size());
  }
  T operator[](size_t i) const {
    const std::string packed = bytes_.read(i == 0 ? 0 : ends_[i - 1], ends_[i]);
    std::string_view rest = packed;
    T value;
    take_packed(rest, value);
    return value;
  }
  size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  /// Packed size of the elements in bytes.
  int64_t bytes() const { return bytes_.size(); }

  class const_iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using reference = T;
    using pointer = void;
    using iterator_category = std::input_iterator_tag;

    const_iterator() = default;
    const_iterator(const LongList* list, size_t at) : list_(list), at_(at) {}
    T operator*() const { return (*list_)[at_]; }
    const_iterator& operator++() {
      ++at_;
      return *this;
    }
    const_iterator operator++(int) { return {list_, at_++}; }
    bool operator==(const const_iterator&) const = default;

   private:
    const LongList* list_ = nullptr;
    size_t at_ = 0;
  };
  using iterator = const_iterator;
  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, size()}; }

  friend bool operator==(const LongList& a, const LongList& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  LongBytes bytes_;
  std::vector<int64_t> ends_;  // end offset of each element
};

}  // namespace tape
