#include "base/zip.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <zlib.h>

#include "base/error.h"
#include "base/utf8.h"

// The format is PKWARE's APPNOTE.TXT: entries behind local headers, a directory of them behind those, and the end of
// the directory, which says where it begins. All numbers are little-endian.
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

/// Where the directory lies and how much is in it.
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
      fail("the directory is said to be {} bytes from byte {} on, its end is at byte {}", place.bytes, place.start,
           end);
    if (place.entries > kMaxEntries || place.entries * kDirectoryBytes > place.bytes)
      fail("{} entries in a directory of {} bytes", place.entries, place.bytes);
    const std::string directory = bytes_at(file_, static_cast<int64_t>(place.start), static_cast<int64_t>(place.bytes));
    std::string_view rest = directory;
    std::vector<ZipEntry> entries;
    for (uint64_t i = 0; i < place.entries; ++i) entries.push_back(read_entry(rest));
    if (!rest.empty()) fail("{} bytes behind the last of {} entries of the directory", rest.size(), place.entries);
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

  /// The end of the directory is the last thing in the file but for a comment.
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
        fail("the archive is one of several files");
      const DirectoryPlace place{number_at<uint16_t>(end, 10), number_at<uint32_t>(end, 12),
                                 number_at<uint32_t>(end, 16)};
      const bool large = place.entries == 0xFFFF || place.bytes == 0xFFFFFFFF || place.start == 0xFFFFFFFF;
      return large || has_locator() ? find64() : place;
    }
    fail("not a zip archive: it has no end of a directory");
  }

  /// Some write the numbers of 64 bits where 32 would do.
  bool has_locator() const {
    return end_ >= kLocatorBytes &&
           number_at<uint32_t>(bytes_at(file_, end_ - kLocatorBytes, kLocatorBytes), 0) == kLocator64;
  }

  DirectoryPlace find64() {
    if (!has_locator()) fail("the locator of the zip64 directory is missing");
    const auto at = number_at<uint64_t>(bytes_at(file_, end_ - kLocatorBytes, kLocatorBytes), 8);
    if (at > static_cast<uint64_t>(end_) || end_ - static_cast<int64_t>(at) != kLocatorBytes + kEnd64Bytes)
      fail("the end of the zip64 directory is not at byte {}", at);
    end_ = static_cast<int64_t>(at);
    const std::string end = bytes_at(file_, end_, kEnd64Bytes);
    if (number_at<uint32_t>(end, 0) != kEnd64) fail("the end of the zip64 directory is not at byte {}", at);
    return {number_at<uint64_t>(end, 32), number_at<uint64_t>(end, 40), number_at<uint64_t>(end, 48)};
  }

  /// Takes one entry off the directory; its content is not found yet.
  ZipEntry read_entry(std::string_view& rest) const {
    if (rest.size() < kDirectoryBytes || number_at<uint32_t>(rest, 0) != kDirectory)
      fail("an entry of the directory is cut or broken, {} bytes before its end", rest.size());
    const auto flags = number_at<uint16_t>(rest, 8), method = number_at<uint16_t>(rest, 10);
    const size_t name = number_at<uint16_t>(rest, 28), extra = number_at<uint16_t>(rest, 30),
                 comment = number_at<uint16_t>(rest, 32);
    if (rest.size() < kDirectoryBytes + name + extra + comment)
      fail("an entry of the directory is cut or broken, {} bytes before its end", rest.size());
    ZipEntry entry;
    entry.name = rest.substr(kDirectoryBytes, name);
    if (!valid_utf8(entry.name)) fail("the name of an entry is not UTF-8");
    if (flags & 1) fail("entry \"{}\": it is encrypted", entry.name);
    if (method != kStored && method != kDeflated)
      fail("entry \"{}\": compression {} is not read (0 and 8 are)", entry.name, method);
    entry.deflated = method == kDeflated;
    entry.checksum = number_at<uint32_t>(rest, 16);
    uint64_t stored = number_at<uint32_t>(rest, 20), size = number_at<uint32_t>(rest, 24),
             start = number_at<uint32_t>(rest, 42);
    read_large(entry.name, rest.substr(kDirectoryBytes + name, extra), {&size, &stored, &start});
    const auto limit = static_cast<uint64_t>(file_.size());
    if (stored > limit || start > limit)
      fail("entry \"{}\": {} bytes from byte {} on, the file has {}", entry.name, stored, start, limit);
    if (entry.deflated ? size > stored * kMaxRatio : size != stored)
      fail("entry \"{}\": {} bytes cannot be in {}", entry.name, size, stored);
    entry.size = static_cast<int64_t>(size);
    entry.stored = static_cast<int64_t>(stored);
    entry.start = static_cast<int64_t>(start);
    rest.remove_prefix(kDirectoryBytes + name + extra + comment);
    return entry;
  }

  /// Numbers that do not fit 32 bits stand in an extra field, those alone and in this order.
  void read_large(const std::string& name, std::string_view extra, std::initializer_list<uint64_t*> numbers) const {
    std::string_view large;
    while (extra.size() >= 4) {
      const size_t bytes = number_at<uint16_t>(extra, 2);
      if (bytes > extra.size() - 4) fail("entry \"{}\": an extra field is cut", name);
      if (number_at<uint16_t>(extra, 0) == 1) large = extra.substr(4, bytes);
      extra.remove_prefix(4 + bytes);
    }
    for (uint64_t* number : numbers) {
      if (*number != 0xFFFFFFFF) continue;
      if (large.size() < 8) fail("entry \"{}\": its zip64 numbers are missing", name);
      *number = number_at<uint64_t>(large, 0);
      large.remove_prefix(8);
    }
  }

  /// Behind the local header, whose own lengths of name and extra fields may differ from the directory's.
  void find_content(ZipEntry& entry, int64_t directory) const {
    const int64_t header = entry.start;
    if (header > directory - kLocalBytes) fail("entry \"{}\": its header at byte {} is cut", entry.name, header);
    const std::string local = bytes_at(file_, header, kLocalBytes);
    if (number_at<uint32_t>(local, 0) != kLocal)
      fail("entry \"{}\": there is no header at byte {}", entry.name, header);
    const int64_t name = number_at<uint16_t>(local, 26), extra = number_at<uint16_t>(local, 28);
    entry.start = header + kLocalBytes + name + extra;
    if (entry.start > directory || entry.stored > directory - entry.start)
      fail("entry \"{}\": {} bytes from byte {} on reach into the directory", entry.name, entry.stored, entry.start);
    if (bytes_at(file_, header + kLocalBytes, name) != entry.name)
      fail("entry \"{}\": its header at byte {} gives another name", entry.name, header);
  }

  /// Entries that share bytes are how small archives become huge.
  void check_apart(std::vector<ZipEntry>& entries) const {
    std::sort(entries.begin(), entries.end(), [](const ZipEntry& a, const ZipEntry& b) { return a.start < b.start; });
    for (size_t i = 1; i < entries.size(); ++i)
      if (entries[i].start - kLocalBytes - std::ssize(entries[i].name) < entries[i - 1].start + entries[i - 1].stored)
        fail("entries \"{}\" and \"{}\" share bytes", entries[i - 1].name, entries[i].name);
  }

  void check_names(std::vector<ZipEntry>& entries) const {
    std::sort(entries.begin(), entries.end(), [](const ZipEntry& a, const ZipEntry& b) { return a.name < b.name; });
    for (size_t i = 1; i < entries.size(); ++i)
      if (entries[i].name == entries[i - 1].name) fail("entry \"{}\" is there twice", entries[i].name);
  }

  const InputFile& file_;
  int64_t end_ = 0;  // of the directory
};

}  // namespace

std::vector<ZipEntry> read_zip_directory(const InputFile& file) { return DirectoryReader(file).read(); }

/// What is unpacked, and the bytes of the archive that come next.
struct ZipEntryReader::Inflate {
  Inflate() : next(static_cast<size_t>(kChunk), '\0') {
    // No header of zlib's own around the bits.
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) raise(ErrorKind::out_of_memory, "zip: no memory to unpack with");
  }
  ~Inflate() { inflateEnd(&stream); }
  Inflate(const Inflate&) = delete;
  Inflate& operator=(const Inflate&) = delete;

  z_stream stream = {};
  std::string next;
  int64_t taken = 0;  // of the archive
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

/// Unpacks some of it; 0 only where it has ended.
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
      raise(ErrorKind::format, "{}: entry \"{}\" cannot be unpacked behind byte {}", file_.path(), entry_.name, read_);
  }
  return static_cast<int64_t>(room - in.stream.avail_out);
}

void ZipEntryReader::finish() {
  char more = 0;
  const bool longer = read_ < entry_.size || (inflate_ && read_deflated(&more, 1) > 0);
  const bool rest = inflate_ && (!inflate_->ended || inflate_->taken < entry_.stored || inflate_->stream.avail_in > 0);
  if (longer || rest)
    raise(ErrorKind::format, "{}: entry \"{}\" does not end behind its {} bytes", file_.path(), entry_.name,
          entry_.size);
  if (checksum_ != entry_.checksum)
    raise(ErrorKind::format, "{}: entry \"{}\" has the checksum {:08x}, the directory says {:08x}", file_.path(),
          entry_.name, checksum_, entry_.checksum);
}

}  // namespace tape
