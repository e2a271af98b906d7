#pragma once

#include <filesystem>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "base/terminal.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/one_thread.h"

// Shared by the tests of all tasks that train an encoder.
namespace tape::train {

/// Runs `train_task` on its own files; the test's constructor gives their text.
template <class Options, auto train_task>
class EncoderTaskTest : public testing::Test {
 protected:
  EncoderTaskTest(std::string ending, const std::string& to_learn, const std::string& to_validate)
      : ending_(std::move(ending)) {
    write_text(data(), to_learn), write_text(valid(), to_validate);
  }
  std::string data() const { return folder_ / ("train" + ending_); }
  std::string valid() const { return folder_ / ("dev" + ending_); }
  std::string run(const std::string& name = "run") const { return folder_ / name; }

  /// A model from scratch with one layer of width 32.
  Options from_scratch() const {
    Options options = of_files();
    options.run.dropout = 0;
    options.vocab_size = 300, options.layers = 1, options.width = 32, options.heads = 2;
    return options;
  }
  Options with_init(const std::string& init) const {
    Options options = of_files();
    options.init = init;
    return options;
  }
  auto train(const Options& options) {
    printed_.str("");
    return train_task(options, printed_, TerminalInfo{});
  }
  void refuses(const Options& options, const std::string& sentence, ErrorKind kind = ErrorKind::config) {
    EXPECT_TAPE_ERROR(train(options), kind, sentence);
    std::filesystem::remove_all(run());
  }

  const OneThread one_thread_;
  TemporaryFolder folder_;
  std::ostringstream printed_;

 private:
  Options of_files() const {
    Options options;
    options.run.out = run(), options.run.lr = 3e-3;
    options.data = data(), options.valid = valid(), options.batch = 16;
    return options;
  }

  std::string ending_;
};

}  // namespace tape::train
