#pragma once

namespace tape::tools {

/// From now on, the first Ctrl-C (SIGINT), SIGTERM or SIGHUP is only recorded, so that a run can finish its step and
/// save. Another SIGINT or SIGTERM ends the process immediately; another SIGHUP does not, as a terminal that closes may
/// send several. SIGHUP stays ignored if it is (nohup). Writing to a closed pipe becomes a failed write like that to a
/// full disk (SIGPIPE is ignored).
void note_interrupts();

/// The recorded signal, 0 if there was none.
int interrupted();

}  // namespace tape::tools
