#include "train/runs/progress.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/utf8.h"

namespace tape::train {
namespace {

constexpr double smoothing_seconds = 15;
constexpr int64_t narrowest_bar = 10;
constexpr int64_t widest_bar = 40;
constexpr std::string_view erase_to_end = "\x1b[K";

constexpr std::string_view bar_color = "\x1b[36m";
constexpr std::string_view track_color = "\x1b[90m";
constexpr std::string_view plain_color = "\x1b[0m";

void repeat(std::string& text, std::string_view piece, int64_t times) {
  for (int64_t i = 0; i < times; ++i) text += piece;
}

// Steps of half a column. If the bar ends in the middle of a column, its tip and the start of the track share it.
std::string bar(double share, int64_t columns, bool color) {
  const auto halves = static_cast<int64_t>(std::floor(share * static_cast<double>(2 * columns)));
  std::string out(color ? bar_color : "");
  repeat(out, "━", halves / 2);
  if (halves % 2 == 1) out += "╸";
  if (color) out += track_color;
  repeat(out, color ? "━" : "─", columns - (halves + 1) / 2);
  if (color) out += plain_color;
  return out;
}

std::string joined(const std::vector<std::string>& fields, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out.append(i == 0 ? "" : "  ").append(fields[i]);
  return out;
}

}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e9) return "?";
  const auto all = std::llround(seconds);
  const auto hours = all / 3600;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, all / 60 % 60, all % 60);
  return fmt::format("{}:{:02}", all / 60, all % 60);
}

std::string format_count(double count) {
  if (!std::isfinite(count) || count < 0) return "?";
  std::string_view unit;
  // 999.5 would be printed as 1000.
  for (std::string_view larger : {"k", "M", "G", "T"}) {
    if (count < 999.5) break;
    count /= 1000;
    unit = larger;
  }
  const int decimals = unit.empty() || count >= 99.95 ? 0 : count >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}", count, decimals, unit);
}

Progress::Progress(std::ostream& out, int64_t total_steps, TerminalInfo terminal, ProgressOptions options)
    : out_(out), total_(total_steps), terminal_(terminal), options_(std::move(options)) {
  if (total_ < 0) raise(ErrorKind::config, "Progress: total_steps {} is negative", total_);
  if (options_.first_step < 0 || options_.first_step > total_) {
    raise(ErrorKind::config, "Progress: first_step {} is not in 0..{} (total_steps)", options_.first_step, total_);
  }
  state_.step = written_step_ = options_.first_step;
  started_at_ = updated_at_ = written_at_ = options_.clock();
}

Progress::~Progress() {
  if (!bar_on_line_) return;
  try {
    out_ << '\n' << std::flush;
  } catch (const std::exception&) {
    // A stream that throws on failure: a destructor cannot report it.
  }
}

void Progress::measure(const ProgressState& state) {
  const double now = options_.clock();
  const double seconds = now - updated_at_;
  const double keep = std::exp(-seconds / smoothing_seconds);
  recent_seconds_ = recent_seconds_ * keep + seconds;
  recent_steps_ = recent_steps_ * keep + static_cast<double>(state.step - state_.step);
  recent_tokens_ = recent_tokens_ * keep + static_cast<double>(state.tokens);
  updated_at_ = now;
}

void Progress::update(const ProgressState& state) {
  if (finished_) return;
  measure(state);
  state_ = state;
  state_shown_ = false;
  const bool first = !has_state_;
  has_state_ = true;
  const double waited = updated_at_ - written_at_;
  if (terminal_.tty) {
    if (first || waited >= options_.redraw_seconds) draw_bar();
    return;
  }
  const double share = total_ > 0 ? static_cast<double>(total_) * options_.line_share : 0;
  // Counted in whole shares, so that lines appear at 10%, 20%, ... regardless of the timed ones.
  const auto passed = [&](int64_t step) { return share > 0 ? std::floor(static_cast<double>(step) / share) : 0; };
  if (passed(state_.step) > passed(written_step_) || waited >= options_.line_seconds) write_plain();
}

// Fixed widths, so that the bar's length does not change between redraws.
std::vector<std::string> Progress::fields() const {
  std::vector<std::string> fields = {fmt::format("{:>{}}/{}", state_.step, fmt::formatted_size("{}", total_), total_)};
  if (!has_state_) return fields;
  if (state_.epoch) fields.push_back(fmt::format("epoch {:.2f}", *state_.epoch));
  fields.push_back(fmt::format("loss {:.4f}", state_.loss));
  for (const auto& [key, value] : state_.extras) {
    fields.push_back(clipped(fmt::format("{} {}", key, value), 40));
  }
  if (finished_) {
    fields.push_back(fmt::format("took {:>5}", format_duration(updated_at_ - started_at_)));
  } else if (recent_steps_ > 0 && recent_seconds_ > 0) {
    const double left = static_cast<double>(total_ - state_.step) * recent_seconds_ / recent_steps_;
    fields.push_back(fmt::format("spent {:>5}", format_duration(updated_at_ - started_at_)));
    fields.push_back(fmt::format("left {:>5}", format_duration(left)));
  }
  if (recent_tokens_ > 0 && recent_seconds_ > 0) {
    fields.push_back(fmt::format("{:>5} tok/s", format_count(recent_tokens_ / recent_seconds_)));
  }
  if (!finished_ && recent_steps_ > 0 && recent_seconds_ > 0) {
    const double rate = recent_steps_ / recent_seconds_;
    fields.push_back(fmt::format("{:>4} steps/s", rate < 999.5 ? fmt::format("{:.3g}", rate) : format_count(rate)));
  }
  fields.push_back(fmt::format("lr {:.2e}", state_.learning_rate));
  if (state_.gradient_norm) fields.push_back(fmt::format("grad {:.3g}", *state_.gradient_norm));
  return fields;
}

std::string Progress::bar_line() const {
  const double share = total_ > 0 ? static_cast<double>(state_.step) / static_cast<double>(total_) : 1.0;
  const double clamped = std::clamp(share, 0.0, 1.0);
  const std::string percent = fmt::format("{:3.0f}%", std::floor(100 * clamped));
  const std::vector<std::string> all = fields();
  // Leaves the last column free: some terminals wrap as soon as it is written.
  const int64_t room = std::max(terminal_.columns, 1) - 1;
  for (std::size_t count = all.size(); count > 0; --count) {
    const std::string shown = joined(all, count);
    const int64_t left = room - display_width(percent) - display_width(shown) - 2;
    if (left >= narrowest_bar) {
      const int64_t columns = std::min(left, widest_bar) / 5 * 5;  // unaffected if a field grows by a column
      return fmt::format("{} {} {}", percent, bar(clamped, columns, terminal_.colors != Colors::none), shown);
    }
  }
  return clipped(percent + " " + all.front(), room);
}

void Progress::draw_bar() {
  out_ << '\r' << bar_line() << erase_to_end << std::flush;
  written_at_ = updated_at_;
  bar_on_line_ = state_shown_ = true;
}

void Progress::write_plain() {
  std::vector<std::string> all = fields();
  all.front() = "step " + all.front();
  out_ << joined(all, all.size()) << '\n' << std::flush;
  written_at_ = updated_at_;
  written_step_ = state_.step;
  state_shown_ = true;
}

void Progress::line(std::string_view text) {
  if (!bar_on_line_) {
    out_ << text << '\n' << std::flush;
    return;
  }
  out_ << '\r' << erase_to_end << text << '\n';
  draw_bar();
}

void Progress::finish() {
  if (finished_) return;
  finished_ = true;
  if (!terminal_.tty) {
    if (!state_shown_) write_plain();
    return;
  }
  if (has_state_) draw_bar();
  if (bar_on_line_) out_ << '\n' << std::flush;
  bar_on_line_ = false;
}

}  // namespace tape::train
