#pragma once

namespace tape::tools {

/// From here on the first Ctrl-C (SIGINT) or SIGTERM is only noted, so that a run can finish its step and save; a
/// second one ends the process at once.
void note_interrupts();

/// The signal that was noted, 0 while there was none.
int interrupted();

}  // namespace tape::tools
