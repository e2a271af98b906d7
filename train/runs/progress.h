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

/// Seconds since an arbitrary fixed time; monotonic.
using Clock = std::function<double()>;

/// The steady clock of the system.
double steady_seconds();

/// How often a Progress writes, and its first step.
struct ProgressOptions {
  int64_t first_step = 0;         ///< steps done before this run (after a resume); excluded from the speed
  double redraw_seconds = 0.2;    ///< terminal: minimum time between redraws
  double line_seconds = 10;       ///< otherwise: print a line at least this often ...
  double line_share = 0.1;        ///< ... and whenever this share of all steps has passed
  Clock clock = &steady_seconds;  ///< for tests
};

/// State of a training run at one moment.
struct ProgressState {
  int64_t step = 0;                          ///< number of steps so far
  std::optional<double> epoch = {};          ///< number of epochs, fractional; hidden if not set
  double loss = 0;                           ///< training loss, printed with 4 decimals
  double learning_rate = 0;                  ///< learning rate of the step
  std::optional<double> gradient_norm = {};  ///< hidden if not set
  int64_t tokens = 0;                        ///< number of tokens since the previous update
  /// Printed as "key value", for example {"exact", "93.1%"}.
  std::vector<std::pair<std::string, std::string>> extras = {};
};

/// Displays the progress of a training run: on a terminal one line that is redrawn in place, otherwise an occasional
/// plain line.
///
///     42% ━━━━━━━━━╸───────────── 420/1000  loss 1.2340  exact 93.1%  spent  1:01  left  1:23  12.3k tok/s ...
///
/// The epoch (before the loss) and the gradient norm (on the right) are optional. If the terminal is too narrow, the
/// rightmost fields are dropped first, then the bar. Speed and remaining time are averaged over the last 15 seconds or
/// so (older updates have less weight), including pauses between updates. Writes only to the stream it is given.
class Progress {
 public:
  /// Throws Error (config) if total_steps is negative or first_step is not in 0..total_steps.
  Progress(std::ostream& out, int64_t total_steps, TerminalInfo terminal, ProgressOptions options = {});
  /// Ends the line that is being redrawn, so that later output starts on a new line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Sets the state; writes only when it is due. Cheap enough to call each step.
  void update(const ProgressState& state);

  /// Writes a separate line, above the bar on a terminal.
  void line(std::string_view text);

  /// Shows the final state and ends the line. Later calls and updates are ignored.
  void finish();

  /// Call when the width of the terminal has changed.
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
  // Sums over past updates, weighted by exp(-age / smoothing time).
  double recent_seconds_ = 0;
  double recent_steps_ = 0;
  double recent_tokens_ = 0;
  double started_at_;
  double updated_at_;
  double written_at_;
  int64_t written_step_;
  bool has_state_ = false;
  bool state_shown_ = true;   // the current state has been written
  bool bar_on_line_ = false;  // the cursor is after a bar
  bool finished_ = false;
};

/// "0:07", "12:34", "1:02:03"; "?" if not finite or negative.
std::string format_duration(double seconds);

/// Three significant digits or so: "950", "12.3k", "4.56M", "7.89G"; "?" if not finite or negative.
std::string format_count(double count);

}  // namespace tape::train
