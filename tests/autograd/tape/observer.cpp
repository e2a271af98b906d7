#include "autograd/tape/observer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/diagnose/anomaly.h"
#include "autograd/diagnose/profile.h"
#include "autograd/diagnose/tape_values.h"
#include "autograd/ops.h"
#include "autograd/ops/attention/attention_call.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "autograd/transforms/checkpoint.h"
#include "tests/support/errors.h"

namespace tape {
namespace {

using Lines = std::vector<std::string>;

/// Writes down every event after its own name.
class EventLog : public Observer {
 public:
  EventLog(std::string name, Lines& lines) : name_(std::move(name)), lines_(lines) {}

  void on_use(TensorList inputs) override { note(fmt::format("used {}", inputs.size())); }
  void on_record(const Op& op, TensorList, TensorList, AttributeList) override {
    note(fmt::format("recorded {}", op.name()));
  }
  void on_node(Node& node, TensorList) override { note(fmt::format("entered {}", node.name())); }
  void on_backward(const Node& node) override { note(fmt::format("differentiating {}", node.name())); }
  void on_backward_done(const Node& node, const Tensors&, const Tensors&) override {
    note(fmt::format("differentiated {}", node.name()));
  }
  void on_attention(AttentionCall& call) override { note(fmt::format("attended {}", call.heads)); }
  void on_module_enter(const std::string& path) override { note("> " + path); }
  void on_module_leave(const std::string& path) noexcept override { note("< " + path); }

 private:
  void note(const std::string& event) { lines_.push_back(name_.empty() ? event : name_ + ": " + event); }

  const std::string name_;
  Lines& lines_;
};

Tensor leaf() { return tensor({1., 2.}, f64).requires_grad_(); }

TEST(Observer, SeesEveryEventInOrder) {
  Lines lines;
  const Tensor x = leaf();
  const EventLog event_log("", lines);
  const ModuleScope outer("encoder");
  {
    const ModuleScope inner("norm");
    exp(x).backward({.gradient = ones({2}, f64)});
  }
  {
    const NoGrad no_grad;
    exp(x);
  }
  EXPECT_EQ(lines, (Lines{"> encoder", "> encoder.norm", "used 1", "recorded exp", "entered exp", "differentiating exp",
                          "used 2", "differentiated exp", "< encoder.norm", "used 1"}));
}

/// Keeps the last recorded output and how often each operation was recorded.
class LastOutput : public Observer {
 public:
  Tensor output;
  Lines names;

 private:
  void on_node(Node& node, TensorList outputs) override {
    names.emplace_back(node.name());
    output = outputs[0];
    EXPECT_EQ(&node, output.impl().node.get());
  }
};

TEST(Observer, SeesTheWrittenTensorOfAnInPlaceWrite) {
  const Tensor x = leaf();
  Tensor h = x * 3;
  const LastOutput seen;
  h += x;
  EXPECT_TRUE(seen.output.is(h));
  EXPECT_EQ(seen.output.to_vector<double>(), (x * 3 + x).detach().to_vector<double>());
  h.add_(x, 2);
  EXPECT_TRUE(seen.output.is(h));
  EXPECT_EQ(seen.names, (Lines{"add", "affine", "add", "affine", "add"}));
  EXPECT_THROW(h += ones({3}, f64), Error);
  exp(x);
  EXPECT_EQ(seen.names.back(), "exp");
}

TEST(Observer, SeesFusedAndComposedAttention) {
  const Tensor x = sample_normal({1, 2, 3, 4}, 1);
  for (const bool composed : {false, true}) {
    std::optional<Composed> unfused;
    if (composed) unfused.emplace();
    Lines lines;
    const EventLog event_log("", lines);
    scaled_dot_product_attention(x, x, x);
    EXPECT_EQ(std::count(lines.begin(), lines.end(), "attended 2"), 1);
  }
}

TEST(Observer, RunsFromTheOutermostToTheInnermostScope) {
  Lines lines;
  const Tensor x = leaf();
  const EventLog first("a", lines);
  {
    const EventLog second("b", lines), third("c", lines);
    exp(x);
  }
  exp(x);
  EXPECT_EQ(lines, (Lines{"a: used 1", "a: recorded exp", "a: entered exp", "b: used 1", "b: recorded exp",
                          "b: entered exp", "c: used 1", "c: recorded exp", "c: entered exp", "a: used 1",
                          "a: recorded exp", "a: entered exp"}));
}

/// What a TapeValues stores for two operations and their backward.
Lines stored_by(const TapeValues& values) {
  Lines lines;
  for (const TapeValues::Step& step : values.steps())
    lines.push_back(fmt::format("{} {} {}", step.inputs.size(), step.outputs.size(), step.gradients.size()));
  return lines;
}

void two_operations() { sum(exp(leaf())).backward(); }

TEST(Observer, WorksTogetherWithOthersInAnyOrder) {
  const Lines expected{"1 1 1", "1 1 1"};
  {
    const TapeValues values;
    const DetectAnomaly looking;
    two_operations();
    EXPECT_TAPE_ERROR(log(tensor({0.}, f64).requires_grad_()), ErrorKind::numeric,
                      "log: produced -inf at [0] of [1], from finite inputs");
    EXPECT_EQ(stored_by(values), (Lines{"1 1 1", "1 1 1", "1 1 0"}))
        << "the outer observer ran before the inner one threw";
  }
  {
    const DetectAnomaly looking;
    const TapeValues values;
    two_operations();
    EXPECT_TAPE_ERROR(log(tensor({0.}, f64).requires_grad_()), ErrorKind::numeric,
                      "log: produced -inf at [0] of [1], from finite inputs");
    EXPECT_EQ(stored_by(values), expected);
  }
  const TapeValues outer;
  const Profile outer_times;
  {
    const TapeValues inner;
    const Profile inner_times;
    two_operations();
    EXPECT_EQ(stored_by(inner), expected);
    EXPECT_EQ(inner_times.costs().at({Profile::Pass::forward, "exp"}).calls, 1);
  }
  two_operations();
  EXPECT_EQ(stored_by(outer), (Lines{"1 1 1", "1 1 1", "1 1 1", "1 1 1"}));
  EXPECT_EQ(outer_times.costs().at({Profile::Pass::backward, "sum"}).calls, 2);
}

TEST(Observer, SeesNothingInAnUnobservedScope) {
  Lines lines;
  const Tensor x = leaf();
  const EventLog outer("outer", lines);
  {
    const HideObservers own_tape;
    exp(x);
    const EventLog inner("inner", lines);
    exp(x);
  }
  EXPECT_EQ(lines, (Lines{"inner: used 1", "inner: recorded exp", "inner: entered exp"}));
  lines.clear();
  exp(x);
  EXPECT_EQ(lines.size(), 3u) << "events are observed again after the scope";
}

/// Calls a function at each recorded operation.
class CallOnRecord : public Observer {
 public:
  explicit CallOnRecord(std::function<void()> what) : what_(std::move(what)) {}
  void on_node(Node&, TensorList) override { what_(); }

 private:
  std::function<void()> what_;
};

TEST(Observer, DoesNotSeeOperationsOfItsOwnEvents) {
  int64_t calls = 0;
  const CallOnRecord doing([&] {
    ++calls;
    two_operations();
  });
  exp(leaf());
  EXPECT_EQ(calls, 1);
}

TEST(Observer, KeepsListeningIfAnotherThrows) {
  Lines lines;
  const Tensor x = leaf();
  const EventLog outer("outer", lines);
  std::optional<CallOnRecord> thrower(std::in_place, [] { throw std::runtime_error("enough"); });
  const EventLog inner("inner", lines);
  EXPECT_THROW(exp(x), std::runtime_error);
  EXPECT_EQ(lines.back(), "outer: entered exp");
  thrower.reset();
  lines.clear();
  exp(x);
  EXPECT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines.back(), "inner: entered exp");
}

TEST(Observer, LeavesTheModulePathIfItThrowsAtItsBegin) {
  class Refuses : public Observer {
    void on_module_enter(const std::string&) override { throw std::runtime_error("no"); }
  };
  const ModuleScope outer("outer");
  {
    const Refuses refuses;
    EXPECT_THROW(ModuleScope("inner"), std::runtime_error);
  }
  EXPECT_EQ(ModuleScope::path(), "outer");
}

TEST(Observer, MayEndInsideAnEventAndOutOfOrder) {
  Lines lines;
  const Tensor x = leaf();
  std::optional<EventLog> first(std::in_place, "first", lines), last;
  std::optional<CallOnRecord> closing;
  closing.emplace([&] {
    first.reset();
    last.reset();
  });
  last.emplace("last", lines);
  exp(x);
  EXPECT_EQ(lines, (Lines{"first: used 1", "first: recorded exp", "first: entered exp"}));
  lines.clear();
  closing.reset();
  exp(x);
  EXPECT_TRUE(lines.empty());
  const EventLog next("next", lines);
  exp(x);
  EXPECT_EQ(lines.size(), 3u);
}

TEST(Observer, ListensOnlyToItsOwnThread) {
  Lines lines;
  const EventLog event_log("", lines);
  std::thread([] { two_operations(); }).join();
  EXPECT_TRUE(lines.empty());
}

TEST(Observer, SeesBothRunsOfACheckpoint) {
  Lines lines;
  const Tensor x = leaf();
  const EventLog event_log("", lines);
  const Tensor y = checkpoint([](const Tensors& in) { return exp(in[0]); }, {x});
  EXPECT_EQ(lines, (Lines{"used 1", "used 1", "recorded checkpoint", "entered checkpoint"}));
  lines.clear();
  y.backward({.gradient = ones({2}, f64)});
  EXPECT_EQ(lines,
            (Lines{"used 1", "recorded exp", "entered exp", "differentiating exp", "used 2", "differentiated exp"}));
}

}  // namespace
}  // namespace tape
