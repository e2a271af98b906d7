#include "inspect/run_report/run_log.h"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include "tests/support/errors.h"

namespace tape::inspect {
namespace {

using testing::ElementsAre;
using testing::Pair;

RunLog parse(const std::string& text) { return parse_run_log(text, "runs/a/log.jsonl"); }

std::string step(int64_t number, double seconds, double loss = 1) {
  return fmt::format(R"({{"event":"step","step":{},"seconds":{},"loss":{}}})"
                     "\n",
                     number, seconds, loss);
}

std::vector<int64_t> steps(const RunLog& log) {
  std::vector<int64_t> all;
  for (const LoggedStep& each : log.steps) all.push_back(each.step);
  return all;
}

std::vector<double> seconds(const RunLog& log) {
  std::vector<double> all;
  for (const LoggedStep& each : log.steps) all.push_back(each.seconds);
  return all;
}

TEST(RunLog, ReadsEveryKindOfLine) {
  const RunLog log = parse(
      R"({"event":"start","time":"2026-01-01T00:00:00Z","task":"translation","parameters":7,"options":{"a":{"b":1}}})"
      "\n"
      R"({"event":"step","step":10,"epoch":0.5,"loss":2.5,"lr":1e-3,"grad_norm":0.7,"tokens":99,"tokens_per_second":500,"seconds":4})"
      "\n"
      R"({"event":"eval","step":10,"seconds":5,"loss":2.25,"metrics":{"bleu":31.5,"chrf":null},"weights":"average"})"
      "\n"
      R"({"event":"samples","step":10,"samples":[{"input":"ja","reference":"yes","output":"no"},{"output":"o"}]})"
      "\n"
      R"({"event":"confusion","step":10,"labels":["a","b"],"counts":[[3,1],[0,2]]})"
      "\n"
      R"({"event":"checkpoint","step":10,"folder":"checkpoint-10","best":true})"
      "\n"
      R"({"event":"warning","step":10,"text":"careful"})"
      "\n"
      R"({"event":"new kind","of":"line"})"
      "\n"
      R"({"event":"end","step":10,"seconds":6,"reason":"steps","metrics":{"bleu":32}})"
      "\n");
  EXPECT_EQ(log.start["options"]["a"]["b"], 1);
  ASSERT_EQ(log.steps.size(), 1u);
  const LoggedStep& only = log.steps[0];
  EXPECT_EQ(only.step, 10);
  EXPECT_THAT((std::vector{only.epoch, only.seconds, only.loss, only.lr, only.grad_norm, only.tokens_per_second}),
              ElementsAre(0.5, 4, 2.5, 1e-3, 0.7, 500));
  ASSERT_EQ(log.evals.size(), 1u);
  EXPECT_EQ(log.evals[0].loss, 2.25);
  EXPECT_EQ(log.evals[0].weights, "average");
  EXPECT_THAT(log.evals[0].metrics, ElementsAre(Pair("bleu", 31.5), Pair("chrf", testing::IsNan())));
  ASSERT_EQ(log.samples.size(), 1u);
  EXPECT_EQ(log.samples[0].samples[0].reference, "yes");
  EXPECT_EQ(log.samples[0].samples[1].input, "");
  EXPECT_EQ(log.samples[0].samples[1].output, "o");
  EXPECT_THAT(log.confusions.at(0).counts, ElementsAre(ElementsAre(3, 1), ElementsAre(0, 2)));
  ASSERT_EQ(log.marks.size(), 2u);
  EXPECT_TRUE(log.marks[0].best);
  EXPECT_EQ(log.marks[1].text, "careful");
  ASSERT_EQ(log.ends.size(), 1u);
  EXPECT_EQ(log.ends[0].reason, "steps");
  EXPECT_EQ(log.unknown_events, 1);
}

TEST(RunLog, IgnoresALastLineCutShort) {
  const std::string whole = step(1, 1) + step(2, 2);
  for (size_t length = step(1, 1).size(); length + 1 < whole.size(); ++length)
    EXPECT_THAT(steps(parse(whole.substr(0, length))), ElementsAre(1)) << length;
  EXPECT_THAT(steps(parse(whole.substr(0, whole.size() - 1))), ElementsAre(1, 2)) << "only its line break is missing";
  EXPECT_THAT(steps(parse("")), ElementsAre());
  EXPECT_THAT(steps(parse("{\"event\":")), ElementsAre());
}

TEST(RunLog, ShowsRepeatedStepsOnce) {
  const RunLog log = parse(step(1, 1) + step(2, 2) + step(3, 3) +
                           R"({"event":"eval","step":3,"loss":1})"
                           "\n"
                           R"({"event":"checkpoint","step":3,"folder":"c"})"
                           "\n"
                           R"({"event":"warning","step":3,"text":"w"})"
                           "\n"
                           R"({"event":"end","step":3,"reason":"interrupted"})"
                           "\n"
                           R"({"event":"resume","step":2})"
                           "\n" +
                           step(3, 3.5, 9) + step(4, 4.5));
  EXPECT_THAT(steps(log), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(log.steps[2].loss, 9);
  EXPECT_THAT(seconds(log), ElementsAre(1, 2, 3.5, 4.5));
  EXPECT_EQ(log.steps_done_again, 1);
  EXPECT_TRUE(log.evals.empty());
  EXPECT_TRUE(log.ends.empty());
  ASSERT_EQ(log.marks.size(), 3u);
  EXPECT_EQ(log.marks[0].kind, "warning");
  EXPECT_EQ(log.marks[1].kind, "stop");
  EXPECT_EQ(log.marks[1].text, "interrupted");
  EXPECT_EQ(log.marks[2].kind, "resume");
}

TEST(RunLog, AddsUpSecondsOfProcessesThatCountFromZero) {
  const std::string resume = R"({"event":"resume","step":2})"
                             "\n";
  EXPECT_THAT(seconds(parse(step(1, 10) + step(2, 20) + resume + step(3, 5) + step(4, 10))),
              ElementsAre(10, 20, 25, 30));
  EXPECT_THAT(seconds(parse(step(1, 10) + step(2, 20) + step(3, 30) + resume + step(3, 5) + resume + step(3, 6))),
              ElementsAre(10, 20, 26));
}

TEST(RunLog, AcceptsStepsThatGoBackWithoutAResume) {
  EXPECT_THAT(steps(parse(step(1, 1) + step(2, 2) + step(3, 3) + step(2, 4))), ElementsAre(1, 2));
}

TEST(RunLog, NamesALineThatIsNotAnEvent) {
  const auto refuse = [](const std::string& line, const std::string& sentence) {
    EXPECT_TAPE_ERROR(parse(step(1, 1) + line + "\n"), ErrorKind::format, "runs/a/log.jsonl: line 2: " + sentence);
  };
  refuse("[]", "not a JSON object");
  refuse("{}", "missing \"event\"");
  refuse(R"({"event":3})", "\"event\" must be a string, got 3");
  refuse(R"({"event":"step","loss":1})", "missing \"step\"");
  refuse(R"({"event":"step","step":1.5})", "\"step\" must be an integer of at least 0, got 1.5");
  refuse(R"({"event":"step","step":-1})", "\"step\" must be an integer of at least 0, got -1");
  refuse(R"({"event":"step","step":18446744073709551615})",
         "\"step\" must be an integer of at least 0, got 18446744073709551615");
  refuse(R"({"event":"step","step":1,"loss":"low"})", "\"loss\" must be a number or null, got \"low\"");
  refuse(R"({"event":"step","step":1,"loss":1,"loss":2})", "duplicate key \"loss\"");
  refuse(R"({"event":"start","task":[1]})", "\"task\" must be a string, got [1]");
  refuse(R"({"event":"start","options":7})", "\"options\" must be an object, got 7");
  refuse(R"({"event":"eval","step":1,"metrics":[1]})", "\"metrics\" must be an object, got [1]");
  refuse(R"({"event":"eval","step":1,"metrics":{"bleu":true}})", "\"metrics.bleu\" must be a number or null, got true");
  refuse(R"({"event":"samples","step":1,"samples":["x"]})", "\"samples\" must be an array of objects, got \"x\"");
  refuse(R"({"event":"samples","step":1,"samples":[{"output":1}]})", "\"samples.output\" must be a string, got 1");
  refuse(R"({"event":"confusion","step":1,"labels":["a"],"counts":[[1],[2]]})", "\"counts\" has 2 rows for 1 labels");
  refuse(R"({"event":"confusion","step":1,"labels":["a"],"counts":[[1,2]]})",
         "a row of \"counts\" has 2 columns for 1 labels");
  refuse(R"({"event":"confusion","step":1,"labels":["a"],"counts":[[0.5]]})",
         "\"counts\" must be integers of at least 0, got 0.5");
  refuse(R"({"event":"checkpoint","step":1,"folder":"c","best":1})", "\"best\" must be true or false, got 1");
  EXPECT_THROW(parse(step(1, 1) + "{\"event\":\n" + step(2, 2)), Error) << "cut, but not the last";
  EXPECT_THROW(parse("{\"event\":\n"), Error) << "whole, and broken";
  EXPECT_THROW(parse("\n"), Error);
}

}  // namespace
}  // namespace tape::inspect
