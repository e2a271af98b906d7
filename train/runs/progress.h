#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../base/terminal.h"

namespace tape::train {

/// Seconds since some fixed moment; never goes back.
using Clock = std::function<double()>;

/// The steady clock of the system.
double steady_seconds();

/// How often a Progress writes, and from where it counts.
struct ProgressOptions {
  int64_t first_step = 0;         ///< steps done before this run (after a resume); no speed is counted for them
  double redraw_seconds = 0.2;    ///< terminal: the least time between two redraws
  double line_seconds = 10;       ///< elsewhere: a line at least this often ...
  double line_share = 0.1;        ///< ... and each time this share of all steps has passed
  Clock clock = &steady_seconds;  ///< for tests
};

/// One moment of a training run.
struct ProgressState {
  int64_t step = 0;                  ///< steps done so far
  std::optional<double> epoch = {};  ///< epochs done, the running one in part; not shown where it is not given
  double loss = 0;
  double learning_rate = 0;
  std::optional<double> gradient_norm = {};  ///< not shown where it is not given
  int64_t tokens = 0;                        ///< tokens seen since the update before this one
  /// Shown as "key value", for example {"exact", "93.1%"}.
  std::vector<std::pair<std::string, std::string>> extras = {};
};

/// Shows how a training run goes on: on a terminal one line that is redrawn in place, elsewhere a plain line now and
/// then.
///
///     42% ━━━━━━━━━╸───────────── 420/1000  loss 1.2340  exact 93.1%  spent  1:01  left  1:23  12.3k tok/s ...
///
/// The epoch (before the loss) and the gradient's norm (at the right) are shown where they are given. Where the
/// terminal is too narrow for all of it, the fields at the right go first, then the bar. Speed and time left follow the
/// last quarter of a minute or so (older updates count less and less), pauses between updates included. It writes to
/// the stream it is given and nowhere else.
class Progress {
 public:
  /// Errors: ErrorKind::config when total_steps is negative or first_step is not in 0..total_steps.
  Progress(std::ostream& out, int64_t total_steps, TerminalInfo terminal, ProgressOptions options = {});
  /// Ends the line that is being redrawn, so that what is written next does not stick to it.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Takes a new state; writes only when it is time to. Cheap enough to call each step.
  void update(const ProgressState& state);

  /// Writes a line of its own, above the bar on a terminal.
  void line(std::string_view text);

  /// Shows the last state and ends the line. Later calls do nothing; later updates are not shown.
  void finish();

  /// The terminal has a new width.
  void resize(int columns) { terminal_.columns = columns; }

 private:
  void measure(const ProgressState& state);
  void draw_bar();
  void write_plain();
  std::string bar_line() const;
  std::vector<std::string> fields() const;

  std::ostream& out_;
  int64_t total_;
  TerminalInfo terminal_;
  ProgressOptions options_;
  ProgressState state_;
  // Sums over the past, weighted by exp(-age / smoothing time).
  double recent_seconds_ = 0;
  double recent_steps_ = 0;
  double recent_tokens_ = 0;
  double started_at_;
  double updated_at_;
  double written_at_;
  int64_t written_step_;
  bool has_state_ = false;
  bool state_shown_ = true;   // nothing has changed since the last time it was written
  bool bar_on_line_ = false;  // the cursor stands behind a bar
  bool finished_ = false;
};

/// "0:07", "12:34", "1:02:03"; "?" when not finite or negative.
std::string format_duration(double seconds);

/// Three digits or so: "950", "12.3k", "4.56M", "7.89G"; "?" when not finite or negative.
std::string format_count(double count);

}  // namespace tape::train
