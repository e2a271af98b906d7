#include "tools/terminal/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/terminal/shell.h"

namespace tape::tools {
namespace {

std::string names_of(const Completions& command) {
  std::string names;
  for (const auto& option : command.options) names += (names.empty() ? "" : " ") + option.name;
  return names;
}

/// The preceding words select a command. After an option come its values, after a command its subcommands. In zsh,
/// path, options and commands are names of the shell's own variables.
std::string bash_script(const std::string& program, const std::vector<Completions>& commands) {
  std::string paths, values, words;
  for (const Completions& command : commands) {
    for (const std::string& name : command.commands)
      paths += fmt::format("      {}) selected={} ;;\n", shell_quoted(command.path + "/" + name),
                           shell_quoted(command.path.empty() ? name : command.path + " " + name));
    for (const auto& option : command.options) {
      if (!option.values.empty())
        values += fmt::format("    {}) COMPREPLY=($(compgen -W {} -- \"$current\")); return ;;\n",
                              shell_quoted(command.path + "/" + option.name),
                              shell_quoted(fmt::format("{}", fmt::join(option.values, " "))));
      else if (option.takes_value)
        values += fmt::format("    {}) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n",
                              shell_quoted(command.path + "/" + option.name));
    }
    words +=
        fmt::format("    {}) flags={} subcommands={} ;;\n", shell_quoted(command.path), shell_quoted(names_of(command)),
                    shell_quoted(fmt::format("{}", fmt::join(command.commands, " "))));
  }
  return fmt::format(R"(_{0}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} selected='' flags='' subcommands='' word
  for word in "${{COMP_WORDS[@]:1:$((COMP_CWORD - 1))}}"; do
    case $selected/$word in
{1}    esac
  done
  case $selected/$previous in
{2}  esac
  case $selected in
{3}  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
  elif [[ -n $subcommands ]]; then
    COMPREPLY=($(compgen -W "$subcommands" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _{0} {0}
)",
                     program, paths, values, words);
}

/// zsh either sources the script or, if it is installed as the file _tapeformer, loads it as a function on the first
/// completion, which the script then also computes.
std::string zsh_script(const std::string& program, const std::string& bash) {
  return fmt::format(R"(#compdef {0}
autoload -U +X bashcompinit && bashcompinit
{1}if [[ $funcstack[1] == _{0} ]]; then _bash_complete -o filenames -F _{0}; fi
)",
                     program, bash);
}

std::string fish_script(const std::string& program, const std::vector<Completions>& commands) {
  std::string script;
  for (const Completions& command : commands) {
    // The preceding words select this command and none of its subcommands.
    std::string here = "__fish_use_subcommand";
    if (!command.path.empty()) {
      here.clear();
      std::string rest = command.path;
      while (!rest.empty()) {
        const size_t blank = rest.find(' ');
        here += fmt::format("{}__fish_seen_subcommand_from {}", here.empty() ? "" : "; and ", rest.substr(0, blank));
        rest = blank == std::string::npos ? "" : rest.substr(blank + 1);
      }
      if (!command.commands.empty())
        here += fmt::format("; and not __fish_seen_subcommand_from {}", fmt::join(command.commands, " "));
    }
    for (const std::string& name : command.commands) {
      std::string help;
      for (const Completions& other : commands)
        if (other.path == (command.path.empty() ? name : command.path + " " + name)) help = other.help;
      script +=
          fmt::format("complete -c {} -f -n {} -a {} -d {}\n", program, shell_quoted(here), name, shell_quoted(help));
    }
    for (const auto& option : command.options) {
      script += fmt::format("complete -c {} -n {} -l {} -d {}", program, shell_quoted(here), option.name.substr(2),
                            shell_quoted(option.help));
      if (!option.values.empty())
        script += fmt::format(" -x -a {}", shell_quoted(fmt::format("{}", fmt::join(option.values, " "))));
      else if (option.takes_value)
        script += " -r";
      script += '\n';
    }
  }
  return script;
}

}  // namespace

std::string completion_script(const std::string& shell, const std::string& program,
                              const std::vector<Completions>& commands) {
  if (shell == "fish") return fish_script(program, commands);
  const std::string script = bash_script(program, commands);
  return shell == "zsh" ? zsh_script(program, script) : script;
}

}  // namespace tape::tools
