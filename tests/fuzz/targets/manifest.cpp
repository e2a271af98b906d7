#include "train/checkpoints/manifest.h"

#include "base/file.h"
#include "tests/fuzz/target.h"

namespace tape::fuzz {

/// MANIFEST.json beside the files `a` and `b` (empty): one that is taken lists files of the folder as they are.
void fuzz_manifest(Bytes bytes) {
  const std::string folder = empty_folder();
  put_file(folder + "/a", "some bytes\n");
  put_file(folder + "/b", "");
  put_file(folder + "/MANIFEST.json", text_of(bytes));
  const bool all = unless_refused([&] { train::CheckedManifests().check(folder, {"a", "b"}); });
  const bool any = unless_refused([&] { train::CheckedManifests().check(folder, {}); });
  expect(any || !all, "what lists both files is refused where none is needed");
  train::write_manifest(folder);
  train::CheckedManifests().check(folder, {"a", "b"});
  if (!all) return;
  // A manifest that is taken and another byte in a file: no longer.
  put_file(folder + "/MANIFEST.json", text_of(bytes));
  put_file(folder + "/a", "some bytes ");
  expect(!unless_refused([&] { train::CheckedManifests().check(folder, {}); }), "a file with another byte is taken");
}

}  // namespace tape::fuzz
