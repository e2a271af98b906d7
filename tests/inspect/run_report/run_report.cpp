#include "inspect/run_report/run_report.h"

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/growth.h"
#include "tests/support/temporary_folder.h"

namespace tape::inspect {
namespace {

using ReportJson = nlohmann::json;

class RunReport : public testing::Test {
 protected:
  void log(const std::string& text) const { write_text(folder_ / "log.jsonl", text); }

  /// The data embedded in the page.
  ReportJson data(const std::vector<std::string>& others = {}) const {
    const std::string page = read_text(write_run_report(folder_.path(), folder_ / "report.html", others));
    const std::string open = R"(<script type="application/json" id="data">)";
    const size_t begin = page.find(open) + open.size();
    return ReportJson::parse(page.substr(begin, page.find("</script>", begin) - begin));
  }

  const TemporaryFolder folder_;
};

std::string step_line(int64_t number, double loss) {
  return fmt::format(
      R"({{"event":"step","step":{},"epoch":{},"loss":{},"lr":0.001,"grad_norm":2,"tokens_per_second":900,"seconds":{}}})"
      "\n",
      number, static_cast<double>(number) / 100, loss, number);
}

TEST_F(RunReport, ContainsTheDataOfTheLog) {
  log(R"({"event":"start","task":"translation","parameters":12,"machine":"m","options":{"seed":1},"model":"T"})"
      "\n" +
      step_line(1, 4.123456789) + step_line(2, 2) +
      R"({"event":"eval","step":2,"seconds":2.5,"loss":3,"metrics":{"bleu":31.2}})"
      "\n"
      R"({"event":"samples","step":2,"samples":[{"input":"i","reference":"r","output":"o"}],"drawn":"1 of 9 pairs, drawn with seed 3"})"
      "\n"
      R"({"event":"confusion","step":2,"labels":["a","b"],"counts":[[3,1],[0,2]]})"
      "\n"
      R"({"event":"checkpoint","step":2,"folder":"checkpoint-2","best":true})"
      "\n"
      R"({"event":"end","step":2,"seconds":3,"reason":"time"})"
      "\n");
  EXPECT_EQ(write_run_report(folder_.path()), folder_ / "report.html");
  const ReportJson shown = data();
  EXPECT_EQ(shown["folder"], std::filesystem::path(folder_.path()).filename().string());
  EXPECT_EQ(
      shown["start"],
      ReportJson::parse(R"({"task":"translation","parameters":12,"machine":"m","options":{"seed":1},"model":"T"})"));
  EXPECT_EQ(shown["steps"]["step"], ReportJson({1, 2}));
  EXPECT_EQ(shown["steps"]["epoch"], ReportJson({0.01, 0.02}));
  EXPECT_EQ(shown["steps"]["loss"], ReportJson({4.12346, 2.0}));
  ASSERT_EQ(shown["steps"]["smooth"].size(), 3u);
  for (const ReportJson& smooth : shown["steps"]["smooth"]) {
    const double near = std::exp2(-1 / smooth["half_life"].get<double>());
    EXPECT_NEAR(smooth["loss"][1], (4.123456789 * near + 2) / (near + 1), 1e-5);
    EXPECT_EQ(smooth["grad_norm"], ReportJson({2.0, 2.0}));
    EXPECT_EQ(smooth["speed"], ReportJson({900.0, 900.0}));
  }
  EXPECT_EQ(shown["steps"]["smooth"][1]["half_life"], 4.0);
  EXPECT_EQ(shown["steps"]["lr"], ReportJson({0.001, 0.001}));
  EXPECT_EQ(shown["steps"]["grad_norm"], ReportJson({2.0, 2.0}));
  EXPECT_EQ(shown["steps"]["speed"], ReportJson({900.0, 900.0}));
  EXPECT_EQ(shown["evals"],
            ReportJson::parse(R"([{"step":2,"seconds":2.5,"loss":3.0,"metrics":{"bleu":31.2},"weights":""}])"));
  EXPECT_EQ(shown["samples"], ReportJson::parse(R"({"logged":1,"shown":[
      {"step":2,"samples":[["i","r","o"]],"drawn":"1 of 9 pairs, drawn with seed 3"}]})"));
  EXPECT_EQ(shown["confusions"]["shown"][0]["counts"], ReportJson::parse("[[3,1],[0,2]]"));
  EXPECT_EQ(shown["marks"]["shown"],
            ReportJson::parse(R"([{"kind":"checkpoint","step":2,"text":"checkpoint-2","best":true}])"));
  EXPECT_EQ(shown["end"], ReportJson::parse(R"({"step":2,"seconds":3.0,"reason":"time","metrics":{}})"));
}

TEST_F(RunReport, CanBeWrittenBeforeTheFirstStep) {
  log("");
  const ReportJson shown = data();
  EXPECT_EQ(shown["steps"]["step"], ReportJson::array());
  EXPECT_EQ(shown["end"], nullptr);
}

TEST_F(RunReport, IsWrittenToTheGivenPathAndReplacesTheFileThere) {
  log(step_line(1, 1));
  const std::string path = folder_ / "other.html";
  write_text(path, "old");
  EXPECT_EQ(write_run_report(folder_.path(), path), path);
  EXPECT_TRUE(read_text(path).starts_with("<!doctype html>"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "report.html"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_THAT(entry.path().filename().string(), testing::AnyOf("log.jsonl", "other.html"));
}

TEST_F(RunReport, EscapesHostileText) {
  const std::string text = R"--(</script><img src=x onerror=\"bad()\"><!--)--";
  log(fmt::format(R"({{"event":"start","task":"{0}","machine":"{0}","model":"{0}","options":{{"{0}":"{0}"}}}})"
                  "\n"
                  R"({{"event":"samples","step":1,"samples":[{{"input":"{0}","reference":"{0}","output":"{0}"}}]}})"
                  "\n"
                  R"({{"event":"confusion","step":1,"labels":["{0}"],"counts":[[1]]}})"
                  "\n"
                  R"({{"event":"eval","step":1,"metrics":{{"{0}":1}}}})"
                  "\n"
                  R"({{"event":"warning","step":1,"text":"{0}"}})"
                  "\n"
                  R"({{"event":"end","step":1,"reason":"{0}"}})"
                  "\n",
                  text));
  EXPECT_EQ(data()["samples"]["shown"][0]["samples"][0][2], R"--(</script><img src=x onerror="bad()"><!--)--");
  EXPECT_EQ(read_text(folder_ / "report.html").find("<img"), std::string::npos);
}

TEST_F(RunReport, ContainsTheCurvesOfOtherRuns) {
  log(step_line(1, 4) + step_line(2, 3));
  const TemporaryFolder other;
  write_text(other / "log.jsonl",
             R"({"event":"start","task":"t","options":{"lr":0.5},"loss_floor":0.25,"model":"a long text"})"
             "\n" +
                 step_line(1, 5) + step_line(3, 2) +
                 R"({"event":"eval","step":3,"loss":2.5})"
                 "\n"
                 R"({"event":"end","step":3,"seconds":9,"reason":"steps","metrics":{"bleu":12.5}})"
                 "\n");
  EXPECT_EQ(data()["others"], ReportJson::array());
  const ReportJson shown = data({other.path(), folder_.path()});
  ASSERT_EQ(shown["others"].size(), 2u);
  EXPECT_EQ(shown["others"][0]["folder"], std::filesystem::path(other.path()).filename().string());
  EXPECT_EQ(shown["others"][0]["steps"]["step"], ReportJson({1, 3}));
  EXPECT_EQ(shown["others"][0]["steps"]["loss"], ReportJson({5.0, 2.0}));
  EXPECT_EQ(shown["others"][0]["evals"][0]["loss"], 2.5);
  EXPECT_EQ(shown["others"][0]["start"], ReportJson::parse(R"({"task":"t","options":{"lr":0.5},"loss_floor":0.25})"));
  EXPECT_EQ(shown["others"][0]["end"]["metrics"]["bleu"], 12.5);
  EXPECT_EQ(shown["others"][1]["steps"], shown["steps"]);
}

TEST_F(RunReport, ShowsTheFirstMetricsOfThousandsInAlmostLinearTime) {
  expect_almost_linear(2000, [this](size_t count) {
    std::string text;
    for (size_t eval = 0; eval < 10; ++eval) {
      std::string metrics;
      for (size_t i = 0; i < count / 10; ++i) metrics += fmt::format(R"({}"m{}_{}":1)", i == 0 ? "" : ",", eval, i);
      text += fmt::format(R"({{"event":"eval","step":{},"loss":1,"metrics":{{{}}}}})"
                          "\n",
                          eval, metrics);
    }
    log(text);
    const ReportJson shown = data();
    EXPECT_EQ(shown["evals"][0]["metrics"].size(), 100u);
    EXPECT_EQ(shown["evals"][0]["metrics"]["m0_99"], 1);
  });
}

TEST_F(RunReport, StaysSmallForLongRuns) {
  std::string text;
  for (int64_t i = 1; i <= 100'000; ++i) {
    text += step_line(i, i == 54'321 ? 77 : 3 + 1.0 / static_cast<double>(i % 1000 + 1));
    if (i % 100 != 0) continue;
    text += fmt::format(R"({{"event":"samples","step":{},"samples":[{{"output":"{}"}}]}})"
                        "\n",
                        i, std::string(5000, 'x'));
    text += fmt::format(R"({{"event":"eval","step":{},"loss":1,"metrics":{{"bleu":{}}}}})"
                        "\n",
                        i, i == 70'000 ? 40 : 30);
    text += fmt::format(R"({{"event":"warning","step":{},"text":"{}"}})"
                        "\n",
                        i, "again");
  }
  log(text);
  const ReportJson shown = data();
  EXPECT_LT(std::filesystem::file_size(folder_ / "report.html"), 1'000'000u);
  EXPECT_EQ(shown["steps"]["logged"], 100'000);
  EXPECT_EQ(shown["steps"]["step"].front(), 1);
  EXPECT_EQ(shown["steps"]["step"].back(), 100'000);
  EXPECT_THAT(shown["steps"]["step"].get<std::vector<int64_t>>(), testing::Contains(54'321));
  for (const char* column : {"epoch", "seconds", "loss", "lr", "grad_norm", "speed"})
    EXPECT_EQ(shown["steps"][column].size(), shown["steps"]["step"].size()) << column;
  for (const ReportJson& smooth : shown["steps"]["smooth"])
    EXPECT_EQ(smooth["loss"].size(), shown["steps"]["step"].size());
  EXPECT_EQ(shown["samples"]["logged"], 1000);
  EXPECT_EQ(shown["samples"]["shown"].back()["step"], 100'000);
  EXPECT_EQ(shown["samples"]["shown"][0]["samples"][0][2], std::string(4000, 'x') + "…");
  bool best = false;
  for (const ReportJson& eval : shown["evals"]) best |= eval["metrics"]["bleu"] == 40;
  EXPECT_TRUE(best) << "the evaluation with the best score";
  EXPECT_EQ(shown["marks"]["logged"], 1000);
  EXPECT_LT(shown["marks"]["shown"].size(), 1000u);
}

TEST_F(RunReport, OmitsAConfusionMatrixThatIsTooLarge) {
  std::string labels, row;
  for (int i = 0; i < 300; ++i) {
    labels += fmt::format("{}\"label {}\"", i ? "," : "", i);
    row += fmt::format("{}{}", i ? "," : "", i);
  }
  std::string rows;
  for (int i = 0; i < 300; ++i) rows += fmt::format("{}[{}]", i ? "," : "", row);
  log(fmt::format(R"({{"event":"confusion","step":1,"labels":[{}],"counts":[{}]}})"
                  "\n",
                  labels, rows));
  EXPECT_EQ(data()["confusions"], ReportJson::parse(R"({"logged":1,"shown":[]})"));
}

TEST_F(RunReport, NamesTheFileOrLineInErrors) {
  EXPECT_TAPE_ERROR(write_run_report(folder_.path()), ErrorKind::io,
                    folder_ / "log.jsonl: cannot open: No such file or directory");
  log(step_line(1, 1) + "{}\n");
  EXPECT_TAPE_ERROR(write_run_report(folder_.path()), ErrorKind::format,
                    folder_ / "log.jsonl: line 2: missing \"event\"");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "report.html"));
  log(step_line(1, 1));
  EXPECT_TAPE_ERROR(write_run_report(folder_.path(), folder_ / "none/report.html"), ErrorKind::io,
                    folder_ / "none/report.html: cannot create the file: No such file or directory");
}

}  // namespace
}  // namespace tape::inspect
