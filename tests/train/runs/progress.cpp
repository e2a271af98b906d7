#include "train/runs/progress.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <optional>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace tape::train {
namespace {

// A run whose clock advances only when the test sets it.
struct TestRun {
  explicit TestRun(TerminalInfo terminal, int64_t total = 100, int64_t first_step = 0)
      : progress(out, total, terminal, {.first_step = first_step, .clock = [this] { return now; }}) {}

  void step(int64_t number, double seconds) {
    now += seconds;
    progress.update({.step = number, .loss = 1.5, .learning_rate = 3e-4, .tokens = 1000, .extras = extras});
  }

  // Output since the last call.
  std::string written() {
    std::string text = out.str();
    out.str("");
    return text;
  }

  double now = 50;
  std::vector<std::pair<std::string, std::string>> extras;
  std::ostringstream out;
  Progress progress;
};

constexpr TerminalInfo wide{.tty = true, .columns = 100};
constexpr TerminalInfo no_terminal{};

TEST(ProgressOnATerminal, RedrawsOneLineInPlace) {
  TestRun run(wide);
  run.extras = {{"exact", "93.1%"}};
  run.step(1, 0.5);
  EXPECT_EQ(run.written(),
            "\r  1% ──────────────────── "
            "  1/100  loss 1.5000  exact 93.1%  spent  0:01  left  0:50  2.00k tok/s\x1b[K");
  run.step(2, 0.1);
  EXPECT_EQ(run.written(), "") << "too soon";
  run.step(55, 0.15);
  EXPECT_EQ(run.written(),
            "\r 55% ━━━━━━━━━━━───────── "
            " 55/100  loss 1.5000  exact 93.1%  spent  0:01  left  0:01  4.01k tok/s\x1b[K");
  run.progress.finish();
  EXPECT_EQ(run.written(),
            "\r 55% ━━━━━━━━━━━───────── "
            " 55/100  loss 1.5000  exact 93.1%  took  0:01  4.01k tok/s  lr 3.00e-04\x1b[K\n");
}

TEST(ProgressOnATerminal, ColorsTheBar) {
  TestRun run({.tty = true, .columns = 28, .colors = Colors::ansi256});
  run.step(25, 1);
  EXPECT_EQ(run.written(), "\r 25% \x1b[36m━━╸\x1b[90m━━━━━━━\x1b[0m  25/100\x1b[K");
}

TEST(ProgressOnATerminal, FitsTheWidth) {
  for (int columns = 1; columns <= 140; ++columns) {
    TestRun run({.tty = true, .columns = columns});
    run.extras = {{"key", "größer"}};
    run.step(1, 1);
    const std::string text = run.written();
    int64_t width = 0;
    for (char c : text) width += (c & 0xC0) != 0x80;
    width -= 4;  // \r and the three of the erase sequence
    EXPECT_LT(width, columns) << text;
    if (columns >= 26) {
      EXPECT_THAT(text, testing::HasSubstr("──────────")) << columns;
    }
  }
}

TEST(ProgressOnATerminal, AdaptsToANewWidth) {
  TestRun run(wide);
  run.step(1, 1);
  run.written();
  run.progress.resize(10);
  run.step(2, 1);
  EXPECT_EQ(run.written(), "\r  2%   2…\x1b[K");
}

TEST(ProgressOnATerminal, PutsLinesAboveTheBar) {
  TestRun run({.tty = true, .columns = 28});
  run.progress.line("before the first step");
  EXPECT_EQ(run.written(), "before the first step\n");
  run.step(1, 1);
  run.written();
  run.progress.line("exact 93.1%");
  EXPECT_EQ(run.written(), "\r\x1b[Kexact 93.1%\n\r  1% ──────────   1/100\x1b[K");
  run.progress.finish();
  run.written();
  run.progress.line("after");
  EXPECT_EQ(run.written(), "after\n");
}

TEST(ProgressOnATerminal, EndsTheLineExactlyOnce) {
  std::ostringstream out;
  {
    Progress progress(out, 10, wide);
    progress.update({.step = 1});
  }
  EXPECT_TRUE(out.str().ends_with("\x1b[K\n"));
  TestRun run(wide);
  run.step(100, 1);
  run.progress.finish();
  run.written();
  run.progress.finish();
  run.step(101, 1);
  EXPECT_EQ(run.written(), "");
  std::ostringstream unused;
  { Progress progress(unused, 10, wide); }
  EXPECT_EQ(unused.str(), "");
}

TEST(ProgressInAFile, WritesALineEveryTenPercentWithoutEscapes) {
  TestRun run(no_terminal);
  run.extras = {{"exact", "93.1%"}};
  for (int64_t step = 1; step <= 20; ++step) run.step(step, 0.1);
  EXPECT_EQ(
      run.written(),
      "step  10/100  loss 1.5000  exact 93.1%  spent  0:01  left  0:09  10.0k tok/s    10 steps/s  lr 3.00e-04\n"
      "step  20/100  loss 1.5000  exact 93.1%  spent  0:02  left  0:08  10.0k tok/s    10 steps/s  lr 3.00e-04\n");
  run.progress.line("validation");
  EXPECT_EQ(run.written(), "validation\n");
  run.step(21, 0.1);
  EXPECT_EQ(run.written(), "");
  run.progress.finish();
  EXPECT_EQ(run.written(), "step  21/100  loss 1.5000  exact 93.1%  took  0:02  10.0k tok/s  lr 3.00e-04\n");
}

TEST(ProgressInAFile, ShowsEpochAndGradientNormIfGiven) {
  TestRun run(no_terminal, 10);
  run.progress.update({.step = 1, .epoch = 0.25, .loss = 1.5, .learning_rate = 3e-4, .gradient_norm = 12.345});
  EXPECT_EQ(run.written(), "step  1/10  epoch 0.25  loss 1.5000  lr 3.00e-04  grad 12.3\n");
}

TEST(ProgressInAFile, WritesALineAfterALongTime) {
  TestRun run(no_terminal, 1000);
  run.step(1, 9);
  EXPECT_EQ(run.written(), "");
  run.step(2, 2);
  EXPECT_THAT(run.written(), testing::StartsWith("step    2/1000  loss 1.5000"));
  run.step(3, 9);
  EXPECT_EQ(run.written(), "");
}

TEST(ProgressInAFile, DoesNotRepeatTheLastLine) {
  TestRun run(no_terminal, 1);
  run.step(1, 1);
  EXPECT_THAT(run.written(), testing::StartsWith("step 1/1 "));
  run.progress.finish();
  EXPECT_EQ(run.written(), "");
}

TEST(Progress, ExcludesStepsBeforeAResumeFromTheSpeed) {
  TestRun run(no_terminal, 100, 49);
  run.step(50, 2);
  EXPECT_THAT(run.written(), testing::HasSubstr("left  1:40    500 tok/s   0.5 steps/s"));
}

TEST(Progress, AbbreviatesManyStepsPerSecond) {
  TestRun run(no_terminal, 1000);
  for (int64_t step = 1; step <= 100; ++step) run.step(step, 0.0005);
  EXPECT_THAT(run.written(), testing::HasSubstr("2.00k steps/s"));
}

TEST(Progress, ShowsANanLossAndATotalOfZero) {
  TestRun run(wide, 0);
  run.progress.update({.step = 0, .loss = std::numeric_limits<double>::quiet_NaN()});
  EXPECT_THAT(run.written(), testing::HasSubstr("0/0  loss nan"));
}

TEST(Progress, RefusesInvalidSteps) {
  const auto expect_error = [](int64_t total, int64_t first, const std::string& message) {
    std::ostringstream out;
    try {
      Progress(out, total, no_terminal, {.first_step = first});
      FAIL() << "no error, expected: " << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config);
      EXPECT_EQ(error.what(), message);
    }
  };
  expect_error(-1, 0, "Progress: total_steps -1 is negative");
  expect_error(10, 11, "Progress: first_step 11 is not in 0..10 (total_steps)");
}

TEST(Format, ShowsDurationsInHoursMinutesAndSeconds) {
  EXPECT_EQ(format_duration(0), "0:00");
  EXPECT_EQ(format_duration(59.6), "1:00");
  EXPECT_EQ(format_duration(754), "12:34");
  EXPECT_EQ(format_duration(3723), "1:02:03");
  EXPECT_EQ(format_duration(-1), "?");
  EXPECT_EQ(format_duration(std::numeric_limits<double>::infinity()), "?");
}

TEST(Format, ShowsCountsWithTheirUnit) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(950), "950");
  EXPECT_EQ(format_count(999.6), "1.00k");
  EXPECT_EQ(format_count(12'340), "12.3k");
  EXPECT_EQ(format_count(123'400), "123k");
  EXPECT_EQ(format_count(4'560'000), "4.56M");
  EXPECT_EQ(format_count(7.89e9), "7.89G");
  EXPECT_EQ(format_count(std::numeric_limits<double>::quiet_NaN()), "?");
}

// Sets environment variables and restores them.
class TerminalTest : public testing::Test {
 protected:
  TerminalTest() {
    for (const char* name : {"TERM", "NO_COLOR", "COLORTERM"}) {
      const char* value = std::getenv(name);
      before_.emplace_back(name, value == nullptr ? std::optional<std::string>() : value);
      unsetenv(name);
    }
    master_ = posix_openpt(O_RDWR | O_NOCTTY);
    if (master_ >= 0 && grantpt(master_) == 0 && unlockpt(master_) == 0) {
      slave_ = open(ptsname(master_), O_RDWR | O_NOCTTY);
    }
  }
  ~TerminalTest() override {
    for (const auto& [name, value] : before_) value ? setenv(name, value->c_str(), 1) : unsetenv(name);
    close(slave_);
    close(master_);
  }

  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
  int master_ = -1;
  int slave_ = -1;
};

TEST_F(TerminalTest, DistinguishesFilesFromTerminals) {
  const int null = open("/dev/null", O_WRONLY);
  EXPECT_FALSE(terminal_info(null).tty);
  EXPECT_EQ(terminal_info(null).colors, Colors::none);
  close(null);
  if (slave_ < 0) GTEST_SKIP() << "no pseudo-terminals here";
  EXPECT_TRUE(terminal_info(slave_).tty);
  const winsize size{.ws_row = 24, .ws_col = 123, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(ioctl(master_, TIOCSWINSZ, &size), 0);
  EXPECT_EQ(terminal_info(slave_).columns, 123);
}

TEST_F(TerminalTest, HonorsTheEnvironment) {
  if (slave_ < 0) GTEST_SKIP() << "no pseudo-terminals here";
  EXPECT_EQ(terminal_info(slave_).colors, Colors::ansi256);
  setenv("COLORTERM", "truecolor", 1);
  EXPECT_EQ(terminal_info(slave_).colors, Colors::truecolor);
  setenv("NO_COLOR", "", 1);
  EXPECT_EQ(terminal_info(slave_).colors, Colors::truecolor) << "an empty NO_COLOR has no effect";
  setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(terminal_info(slave_).colors, Colors::none);
  EXPECT_TRUE(terminal_info(slave_).tty);
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(terminal_info(slave_).tty);
}

}  // namespace
}  // namespace tape::train
