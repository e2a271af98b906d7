#include "train/checkpoints/manifest.h"

#include "base/file.h"
#include "tests/fuzz/target.h"

namespace tape::fuzz {

/// MANIFEST.json in a folder with the files `a` and `b` (empty): an accepted manifest matches the folder's files.
void fuzz_manifest(Bytes bytes) {
  const std::string folder = empty_folder();
  put_file(folder + "/a", "some bytes\n");
  put_file(folder + "/b", "");
  put_file(folder + "/MANIFEST.json", text_of(bytes));
  const bool all = accepted([&] { train::VerifiedManifests().check(folder, {"a", "b"}); });
  const bool any = accepted([&] { train::VerifiedManifests().check(folder, {}); });
  expect(any || !all, "a manifest of both files is rejected although none is required");
  train::write_manifest(folder);
  train::VerifiedManifests().check(folder, {"a", "b"});
  if (!all) return;
  // After a byte of a file changes, the manifest is no longer accepted.
  put_file(folder + "/MANIFEST.json", text_of(bytes));
  put_file(folder + "/a", "some bytes ");
  expect(!accepted([&] { train::VerifiedManifests().check(folder, {}); }), "a file with a changed byte is accepted");
}

}  // namespace tape::fuzz
