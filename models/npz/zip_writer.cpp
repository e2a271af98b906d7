#include <set>

#include <zlib.h>

#include "base/error.h"
#include "base/utf8.h"
#include "models/npz/zip.h"

namespace tape {
namespace {

constexpr uint64_t kMost = 0xFFFFFFFE;  // 0xFFFFFFFF would mean that the value is in a zip64 field
constexpr size_t kMaxWritten = 65534, kMaxName = 65535;
constexpr uint16_t kZipVersion = 20, kUtf8 = 1 << 11, kDeflateMethod = 8;
constexpr uint16_t kDate = 1 << 5 | 1;  // 1980-01-01, the earliest date: equal contents give equal files

template <class... T>
std::string bytes_of(T... numbers) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
  return bytes;
}

/// Raw deflate of the parts, without a zlib header.
std::string deflate_parts(const std::vector<std::string_view>& parts) {
  z_stream stream = {};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
    raise(ErrorKind::out_of_memory, "zip: out of memory for compression");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> held(&stream, deflateEnd);
  std::string packed, room(1 << 16, '\0');
  const auto run = [&](int flush) {
    do {
      stream.next_out = reinterpret_cast<Bytef*>(room.data());
      stream.avail_out = static_cast<uInt>(room.size());
      TAPE_ASSERT(deflate(&stream, flush) != Z_STREAM_ERROR);
      packed.append(room, 0, room.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  };
  for (const std::string_view part : parts) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
    stream.avail_in = static_cast<uInt>(part.size());
    run(Z_NO_FLUSH);
  }
  run(Z_FINISH);
  return packed;
}

/// The fields that the local header and the directory entry share.
std::string description(const ZipContent& content, uint64_t stored, uint64_t size, bool deflated) {
  uLong checksum = 0;
  for (const std::string_view part : content.parts)
    checksum = crc32_z(checksum, reinterpret_cast<const Bytef*>(part.data()), part.size());
  return bytes_of(kZipVersion, kUtf8, deflated ? kDeflateMethod : uint16_t{0}, uint16_t{0}, kDate,
                  static_cast<uint32_t>(checksum), static_cast<uint32_t>(stored), static_cast<uint32_t>(size),
                  static_cast<uint16_t>(content.name.size()), uint16_t{0});
}

void check_names(const std::string& path, const std::vector<ZipContent>& contents) {
  if (contents.size() > kMaxWritten)
    raise(ErrorKind::config, "{}: {} entries, but a zip archive may have at most {}", path, contents.size(),
          kMaxWritten);
  std::set<std::string_view> names;
  for (const ZipContent& content : contents) {
    if (!valid_utf8(content.name) || content.name.size() > kMaxName)
      raise(ErrorKind::config, "{}: an entry name is not valid UTF-8 or is longer than {} bytes", path, kMaxName);
    if (!names.insert(content.name).second) raise(ErrorKind::config, "{}: duplicate entry \"{}\"", path, content.name);
  }
}

}  // namespace

void write_zip(const std::string& path, const std::vector<ZipContent>& contents, bool deflated) {
  check_names(path, contents);
  std::vector<std::string> headers, packed(contents.size());
  headers.reserve(contents.size());
  std::vector<std::string_view> parts;
  std::string directory;
  uint64_t position = 0;
  for (size_t i = 0; i < contents.size(); ++i) {
    const ZipContent& content = contents[i];
    uint64_t size = 0;
    for (const std::string_view part : content.parts) size += part.size();
    if (size <= kMost && deflated) packed[i] = deflate_parts(content.parts);
    const uint64_t stored = deflated ? packed[i].size() : size;
    if (size > kMost || stored > kMost || position + stored > kMost)
      raise(ErrorKind::config, "{}: with \"{}\" of {} bytes the archive would exceed 4 GiB, which is not supported",
            path, content.name, size);
    const std::string described = description(content, stored, size, deflated);
    headers.push_back(bytes_of(uint32_t{0x04034b50}));
    headers.back().append(described).append(content.name);
    directory += bytes_of(uint32_t{0x02014b50}, kZipVersion) + described +
                 bytes_of(uint16_t{0}, uint16_t{0}, uint16_t{0}, uint32_t{0}, static_cast<uint32_t>(position)) +
                 content.name;
    parts.push_back(headers.back());
    if (deflated)
      parts.push_back(packed[i]);
    else
      parts.insert(parts.end(), content.parts.begin(), content.parts.end());
    position += headers.back().size() + stored;
  }
  const auto count = static_cast<uint16_t>(contents.size());
  const std::string end =
      bytes_of(uint32_t{0x06054b50}, uint16_t{0}, uint16_t{0}, count, count, static_cast<uint32_t>(directory.size()),
               static_cast<uint32_t>(position), uint16_t{0});
  parts.push_back(directory);
  parts.push_back(end);
  write_file(path, parts);
}

}  // namespace tape
