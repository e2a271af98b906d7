#include "autograd/io/safetensors_header.h"

#include "tests/fuzz/target.h"

namespace tape::fuzz {

/// Two bytes with the size of the data, then a header: its tensors cover each byte of the data once.
void fuzz_safetensors_header(Bytes bytes) {
  if (bytes.size() < 3) return;
  const int64_t data_bytes = std::to_integer<int64_t>(bytes[0]) + 256 * std::to_integer<int64_t>(bytes[1]);
  const std::string_view text = text_of(bytes.subspan(2));
  const auto header = accepted([&] { return detail::parse_safetensors_header("file", text, data_bytes); });
  if (!header) return;
  int64_t end = 0;
  for (const detail::StoredTensor& tensor : header->tensors) {
    expect(tensor.begin == end && tensor.end >= tensor.begin, "tensor {} is [{}, {}) after byte {}", tensor.name,
           tensor.begin, tensor.end, end);
    expect(tensor.shape.numel() <= tensor.end - tensor.begin, "tensor {} has more elements than bytes", tensor.name);
    end = tensor.end;
  }
  expect(end == data_bytes, "the tensors end at {}, the data at {}", end, data_bytes);
}

}  // namespace tape::fuzz
