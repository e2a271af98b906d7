#include "models/npz/zip.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include <zlib.h>

#include "base/error.h"
#include "base/utf8.h"

// The format is PKWARE's APPNOTE.TXT: each entry's local header and data, then a central directory of all entries,
// then an end record with the position of the directory. All numbers are little-endian.
namespace tape {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kDirectory = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50;
constexpr int64_t kLocalBytes = 30, kDirectoryBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20;
constexpr int64_t kMaxComment = 65535;
constexpr uint64_t kMaxEntries = 100'000;
constexpr int64_t kMaxRatio = 1032;
constexpr int64_t kChunk = 1 << 16;
constexpr uint16_t kStored = 0, kDeflated = 8;

template <class T>
T number_at(std::string_view bytes, size_t position) {
  T value;
  std::memcpy(&value, bytes.data() + position, sizeof value);
  return value;
}

std::string bytes_at(const InputFile& file, int64_t position, int64_t count) {
  std::string bytes(static_cast<size_t>(count), '\0');
  file.read(position, bytes.data(), count);
  return bytes;
}

/// Location and size of the central directory.
struct DirectoryPlace {
  uint64_t entries, bytes, start;
};

class DirectoryReader {
 public:
  explicit DirectoryReader(const InputFile& file) : file_(file) {}

  std::vector<ZipEntry> read() {
    const DirectoryPlace place = find();
    const auto end = static_cast<uint64_t>(end_);
    if (place.start > end || place.bytes != end - place.start)
      fail("directory of {} bytes at byte {} does not end at byte {}", place.bytes, place.start, end);
    if (place.entries > kMaxEntries || place.entries * kDirectoryBytes > place.bytes)
      fail("{} entries in a directory of {} bytes", place.entries, place.bytes);
    const std::string directory = bytes_at(file_, static_cast<int64_t>(place.start), static_cast<int64_t>(place.bytes));
    std::string_view rest = directory;
    std::vector<ZipEntry> entries;
    for (uint64_t i = 0; i < place.entries; ++i) entries.push_back(read_entry(rest));
    if (!rest.empty()) fail("{} extra bytes in the directory after {} entries", rest.size(), place.entries);
    for (ZipEntry& entry : entries) find_content(entry, static_cast<int64_t>(place.start));
    check_apart(entries);
    check_names(entries);
    return entries;
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    raise(ErrorKind::format, "{}: {}", file_.path(), fmt::format(format, std::forward<Args>(args)...));
  }

  /// Finds the end record, the last thing in the file except for a comment.
  DirectoryPlace find() {
    const int64_t tail_bytes = std::min(file_.size(), kEndBytes + kMaxComment), tail_start = file_.size() - tail_bytes;
    const std::string tail = bytes_at(file_, tail_start, tail_bytes);
    for (int64_t at = tail_bytes - kEndBytes; at >= 0; --at) {
      const std::string_view end = std::string_view(tail).substr(static_cast<size_t>(at));
      if (number_at<uint32_t>(end, 0) != kEnd) continue;
      if (static_cast<int64_t>(end.size()) != kEndBytes + number_at<uint16_t>(end, 20)) continue;
      end_ = tail_start + at;
      const auto disk = number_at<uint16_t>(end, 4);
      if (disk != number_at<uint16_t>(end, 6) || (disk != 0 && disk != 0xFFFF))
        fail("archives split over several files are not supported");
      const DirectoryPlace place{number_at<uint16_t>(end, 10), number_at<uint32_t>(end, 12),
                                 number_at<uint32_t>(end, 16)};
      const bool large = place.entries == 0xFFFF || place.bytes == 0xFFFFFFFF || place.start == 0xFFFFFFFF;
      return large || has_locator() ? find64() : place;
    }
    fail("not a zip archive: no end-of-directory record");
  }

  /// Some writers use zip64 records where 32 bits would do.
  bool has_locator() const {
    return end_ >= kLocatorBytes &&
           number_at<uint32_t>(bytes_at(file_, end_ - kLocatorBytes, kLocatorBytes), 0) == kLocator64;
  }

  DirectoryPlace find64() {
    if (!has_locator()) fail("the zip64 end-of-directory locator is missing");
    const auto at = number_at<uint64_t>(bytes_at(file_, end_ - kLocatorBytes, kLocatorBytes), 8);
    if (at > static_cast<uint64_t>(end_) || end_ - static_cast<int64_t>(at) != kLocatorBytes + kEnd64Bytes)
      fail("no zip64 end-of-directory record at byte {}", at);
    end_ = static_cast<int64_t>(at);
    const std::string end = bytes_at(file_, end_, kEnd64Bytes);
    if (number_at<uint32_t>(end, 0) != kEnd64) fail("no zip64 end-of-directory record at byte {}", at);
    return {number_at<uint64_t>(end, 32), number_at<uint64_t>(end, 40), number_at<uint64_t>(end, 48)};
  }

  /// Reads the next entry of the directory; `start` is then the position of its local header.
  ZipEntry read_entry(std::string_view& rest) const {
    if (rest.size() < kDirectoryBytes || number_at<uint32_t>(rest, 0) != kDirectory)
      fail("truncated or invalid directory entry, {} bytes before the end", rest.size());
    const auto flags = number_at<uint16_t>(rest, 8), method = number_at<uint16_t>(rest, 10);
    const size_t name = number_at<uint16_t>(rest, 28), extra = number_at<uint16_t>(rest, 30),
                 comment = number_at<uint16_t>(rest, 32);
    if (rest.size() < kDirectoryBytes + name + extra + comment)
      fail("truncated or invalid directory entry, {} bytes before the end", rest.size());
    ZipEntry entry;
    entry.name = rest.substr(kDirectoryBytes, name);
    if (!valid_utf8(entry.name)) fail("the name of an entry is not valid UTF-8");
    if (flags & 1) fail("entry \"{}\" is encrypted", entry.name);
    if (method != kStored && method != kDeflated)
      fail("entry \"{}\": unsupported compression method {} (supported: 0, 8)", entry.name, method);
    entry.deflated = method == kDeflated;
    entry.checksum = number_at<uint32_t>(rest, 16);
    uint64_t stored = number_at<uint32_t>(rest, 20), size = number_at<uint32_t>(rest, 24),
             start = number_at<uint32_t>(rest, 42);
    read_large(entry.name, rest.substr(kDirectoryBytes + name, extra), {&size, &stored, &start});
    const auto limit = static_cast<uint64_t>(file_.size());
    if (stored > limit || start > limit)
      fail("entry \"{}\": {} bytes at byte {} are outside the file of {} bytes", entry.name, stored, start, limit);
    if (entry.deflated ? size > stored * kMaxRatio : size != stored)
      fail("entry \"{}\": {} bytes cannot be compressed to {}", entry.name, size, stored);
    entry.size = static_cast<int64_t>(size);
    entry.stored = static_cast<int64_t>(stored);
    entry.start = static_cast<int64_t>(start);
    rest.remove_prefix(kDirectoryBytes + name + extra + comment);
    return entry;
  }

  /// Reads the values that do not fit in 32 bits from the zip64 extra field, which has only those, in this order.
  void read_large(const std::string& name, std::string_view extra, std::initializer_list<uint64_t*> numbers) const {
    std::string_view large;
    while (extra.size() >= 4) {
      const size_t bytes = number_at<uint16_t>(extra, 2);
      if (bytes > extra.size() - 4) fail("entry \"{}\": truncated extra field", name);
      if (number_at<uint16_t>(extra, 0) == 1) large = extra.substr(4, bytes);
      extra.remove_prefix(4 + bytes);
    }
    for (uint64_t* number : numbers) {
      if (*number != 0xFFFFFFFF) continue;
      if (large.size() < 8) fail("entry \"{}\": missing zip64 values", name);
      *number = number_at<uint64_t>(large, 0);
      large.remove_prefix(8);
    }
  }

  /// Moves `start` past the local header, whose name and extra field may have other lengths than in the directory.
  void find_content(ZipEntry& entry, int64_t directory) const {
    const int64_t header = entry.start;
    if (header > directory - kLocalBytes) fail("entry \"{}\": truncated header at byte {}", entry.name, header);
    const std::string local = bytes_at(file_, header, kLocalBytes);
    if (number_at<uint32_t>(local, 0) != kLocal) fail("entry \"{}\": no header at byte {}", entry.name, header);
    const int64_t name = number_at<uint16_t>(local, 26), extra = number_at<uint16_t>(local, 28);
    entry.start = header + kLocalBytes + name + extra;
    if (entry.start > directory || entry.stored > directory - entry.start)
      fail("entry \"{}\": {} bytes at byte {} overlap the directory", entry.name, entry.stored, entry.start);
    if (bytes_at(file_, header + kLocalBytes, name) != entry.name)
      fail("entry \"{}\": the header at byte {} has another name", entry.name, header);
  }

  /// Overlapping entries are a form of zip bomb.
  void check_apart(std::vector<ZipEntry>& entries) const {
    std::sort(entries.begin(), entries.end(), [](const ZipEntry& a, const ZipEntry& b) { return a.start < b.start; });
    for (size_t i = 1; i < entries.size(); ++i)
      if (entries[i].start - kLocalBytes - std::ssize(entries[i].name) < entries[i - 1].start + entries[i - 1].stored)
        fail("entries \"{}\" and \"{}\" overlap", entries[i - 1].name, entries[i].name);
  }

  void check_names(std::vector<ZipEntry>& entries) const {
    std::sort(entries.begin(), entries.end(), [](const ZipEntry& a, const ZipEntry& b) { return a.name < b.name; });
    for (size_t i = 1; i < entries.size(); ++i)
      if (entries[i].name == entries[i - 1].name) fail("duplicate entry \"{}\"", entries[i].name);
  }

  const InputFile& file_;
  int64_t end_ = 0;  // end of the directory
};

}  // namespace

std::vector<ZipEntry> read_zip_directory(const InputFile& file) { return DirectoryReader(file).read(); }

/// State of decompression and the compressed bytes to read next.
struct ZipEntryReader::Inflate {
  Inflate() : next(static_cast<size_t>(kChunk), '\0') {
    // Negative window bits: raw deflate data without a zlib header.
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
      raise(ErrorKind::out_of_memory, "zip: out of memory for decompression");
  }
  ~Inflate() { inflateEnd(&stream); }
  Inflate(const Inflate&) = delete;
  Inflate& operator=(const Inflate&) = delete;

  z_stream stream = {};
  std::string next;
  int64_t taken = 0;  // compressed bytes read so far
  bool ended = false;
};

ZipEntryReader::ZipEntryReader(const InputFile& file, const ZipEntry& entry) : file_(file), entry_(entry) {
  if (entry.deflated) inflate_ = std::make_unique<Inflate>();
}
ZipEntryReader::~ZipEntryReader() = default;

void ZipEntryReader::read(void* to, int64_t bytes) {
  char* at = static_cast<char*>(to);
  while (bytes > 0) {
    const int64_t got = inflate_ ? read_deflated(at, bytes) : read_stored(at, bytes);
    if (got == 0)
      raise(ErrorKind::format, "{}: entry \"{}\" ends at byte {} of {}", file_.path(), entry_.name, read_, entry_.size);
    checksum_ = static_cast<uint32_t>(crc32_z(checksum_, reinterpret_cast<const Bytef*>(at), static_cast<size_t>(got)));
    read_ += got;
    at += got;
    bytes -= got;
  }
}

int64_t ZipEntryReader::read_stored(char* to, int64_t bytes) {
  const int64_t count = std::min(bytes, entry_.stored - read_);
  file_.read(entry_.start + read_, to, count);
  return count;
}

/// Decompresses up to `bytes` bytes; returns 0 only at the end of the data.
int64_t ZipEntryReader::read_deflated(char* to, int64_t bytes) {
  Inflate& in = *inflate_;
  const auto room = static_cast<uInt>(std::min<int64_t>(bytes, std::numeric_limits<int32_t>::max()));
  in.stream.next_out = reinterpret_cast<Bytef*>(to);
  in.stream.avail_out = room;
  while (!in.ended && in.stream.avail_out == room) {
    if (in.stream.avail_in == 0) {
      const int64_t count = std::min(kChunk, entry_.stored - in.taken);
      if (count == 0) break;
      file_.read(entry_.start + in.taken, in.next.data(), count);
      in.taken += count;
      in.stream.next_in = reinterpret_cast<Bytef*>(in.next.data());
      in.stream.avail_in = static_cast<uInt>(count);
    }
    const int state = inflate(&in.stream, Z_NO_FLUSH);
    in.ended = state == Z_STREAM_END;
    if (state != Z_OK && !in.ended)
      raise(ErrorKind::format, "{}: entry \"{}\" cannot be decompressed after byte {}", file_.path(), entry_.name,
            read_);
  }
  return static_cast<int64_t>(room - in.stream.avail_out);
}

void ZipEntryReader::finish() {
  char more = 0;
  const bool longer = read_ < entry_.size || (inflate_ && read_deflated(&more, 1) > 0);
  const bool rest = inflate_ && (!inflate_->ended || inflate_->taken < entry_.stored || inflate_->stream.avail_in > 0);
  if (longer || rest)
    raise(ErrorKind::format, "{}: entry \"{}\" does not end after its {} bytes", file_.path(), entry_.name,
          entry_.size);
  if (checksum_ != entry_.checksum)
    raise(ErrorKind::format, "{}: entry \"{}\" has checksum {:08x}, the directory has {:08x}", file_.path(),
          entry_.name, checksum_, entry_.checksum);
}

}  // namespace tape
