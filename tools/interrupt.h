#pragma once

namespace tape::tools {

/// From now on, the first Ctrl-C (SIGINT) or SIGTERM is only recorded, so that a run can finish its step and save. A
/// second one ends the process immediately.
void note_interrupts();

/// The recorded signal, 0 if there was none.
int interrupted();

}  // namespace tape::tools
