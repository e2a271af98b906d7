#include "tools/command.h"

int main(int argc, char** argv) { return tape::tools::run_command(argc, argv); }
