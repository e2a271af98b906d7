#include "inspect/chrome_trace.h"

#include <gmock/gmock.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "base/file.h"
#include "tests/support/temporary_folder.h"

namespace tape {
namespace {

using nlohmann::json;

/// Two modules with one matrix product each, a loss outside them, and its backward.
void one_step(Profile& profile) {
  const Tensor x = ones({4, 5}).requires_grad_(), w = ones({5, 5}).requires_grad_();
  Tensor h = x;
  for (const char* name : {"layers.0", "layers.1"}) {
    const ModuleScope outer("encoder"), module(name);
    h = tanh(matmul(h, w));
  }
  sum(h).backward();
  profile.charge("optimizer");
}

TEST(ProfileEvents, AreInOrderWithTheirModules) {
  Profile profile(Profile::Keep::costs_and_events);
  one_step(profile);
  std::vector<std::string> seen;
  int64_t end = 0;
  for (const Profile::Event& event : profile.events()) {
    EXPECT_EQ(event.begin, end);
    EXPECT_GE(event.end, event.begin);
    end = event.end;
    if (event.pass == Profile::Pass::other) continue;
    seen.push_back(
        fmt::format("{} {} {}", event.pass == Profile::Pass::forward ? "f" : "b", event.name, event.module_path));
    EXPECT_GT(event.bytes, 0);
    EXPECT_EQ(event.attributes, event.name == "sum" ? "axes=[0, 1]" : "") << event.name;
    EXPECT_EQ(event.flops > 0, event.name == "matmul");
    EXPECT_GT(event.live_bytes, 0);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"f matmul encoder.layers.0", "f tanh encoder.layers.0",
                                            "f matmul encoder.layers.1", "f tanh encoder.layers.1", "f sum ", "b sum ",
                                            "b tanh encoder.layers.1", "b matmul encoder.layers.1",
                                            "b tanh encoder.layers.0", "b matmul encoder.layers.0"}));
  profile.reset();
  EXPECT_TRUE(profile.events().empty());
}

TEST(ProfileEvents, AreNotStoredUnlessRequested) {
  Profile profile;
  one_step(profile);
  EXPECT_TRUE(profile.events().empty());
  EXPECT_FALSE(profile.costs().empty());
}

TEST(ChromeTrace, NestsSlicesInThoseOfTheirModules) {
  Profile profile(Profile::Keep::costs_and_events);
  one_step(profile);
  const json trace = json::parse(chrome_trace(profile));
  EXPECT_EQ(trace.at("displayTimeUnit"), "ms");
  struct Slice {
    std::string category, name;
    double begin, end;
  };
  std::vector<Slice> open;
  std::vector<std::string> tree;
  int64_t memory = 0, slices = 0;
  for (const json& event : trace.at("traceEvents")) {
    EXPECT_EQ(event.at("pid"), 1);
    if (event.at("ph") == "C") {
      ++memory;
      EXPECT_GT(event.at("args").at("bytes"), 0);
    }
    if (event.at("ph") != "X") continue;
    ++slices;
    if (event.at("name") == "sum") {
      EXPECT_EQ(event.at("args").at("attributes"), "axes=[0, 1]");
    }
    const Slice slice{event.at("cat"), event.at("name"), event.at("ts"),
                      event.at("ts").get<double>() + event.at("dur").get<double>()};
    while (!open.empty() && open.back().end <= slice.begin + 1e-6) open.pop_back();
    if (!open.empty()) {
      EXPECT_LE(slice.end, open.back().end + 1e-6) << slice.name << " ends after " << open.back().name;
    }
    if (slice.category != "other")
      tree.push_back(std::string(open.size(), ' ') + slice.category.substr(0, 1) + " " + slice.name);
    if (slice.name == "matmul" && slice.category == "forward") {
      EXPECT_EQ(event.at("args").at("flops"), 2 * 4 * 5 * 5);
      EXPECT_EQ(event.at("args").at("bytes"), 4 * (4 * 5 + 5 * 5 + 4 * 5));
      EXPECT_EQ(event.at("args").at("module").get<std::string>().substr(0, 15), "encoder.layers.");
    }
    open.push_back(slice);
  }
  EXPECT_EQ(memory, std::ssize(profile.events()));
  EXPECT_EQ(slices, memory + 2 * (1 + 2));  // encoder, layers.0 and layers.1 in each pass
  const std::vector<std::string> forward(tree.begin(), tree.begin() + 8);
  EXPECT_EQ(forward, (std::vector<std::string>{"m encoder", " m layers.0", "  f matmul", "  f tanh", " m layers.1",
                                               "  f matmul", "  f tanh", "f sum"}));
}

TEST(ChromeTrace, WritesAFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "trace.json";
  Profile profile(Profile::Keep::costs_and_events);
  one_step(profile);
  write_chrome_trace(path, profile);
  EXPECT_EQ(read_text(path), chrome_trace(profile));
  EXPECT_THROW(write_chrome_trace("/nowhere/trace.json", profile), Error);
}

}  // namespace
}  // namespace tape
