#include "autograd/io/npy.h"

#include "models/npz/npz.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets/same_tensors.h"

namespace tape::fuzz {

/// A whole file: its content round-trips through a written file.
void fuzz_npy(Bytes bytes) {
  const std::string folder = empty_folder();
  const std::string given = put_file(folder + "/given.npy", text_of(bytes));
  const auto read = accepted([&] { return load_npy(given); });
  if (!read) return;
  save_npy(folder + "/written.npy", *read);
  expect_same_tensors({{"array", load_npy(folder + "/written.npy")}}, {{"array", *read}});
}

/// A whole archive: its content round-trips through written archives, stored and deflated.
void fuzz_npz(Bytes bytes) {
  const std::string folder = empty_folder();
  const std::string given = put_file(folder + "/given.npz", text_of(bytes));
  const auto read = accepted([&] { return load_npz(given); });
  if (!read) return;
  for (const bool compressed : {false, true}) {
    save_npz(folder + "/written.npz", *read, {.compressed = compressed});
    expect_same_tensors(load_npz(folder + "/written.npz"), *read);
  }
}

}  // namespace tape::fuzz
