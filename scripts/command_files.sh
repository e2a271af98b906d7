#!/usr/bin/env bash
# Writes the manual pages and shell completions of the tapeformer command, from its --help and `completion`:
#   scripts/command_files.sh build/release/tools/tapeformer FOLDER
# FOLDER, which is removed first, is laid out as share/ of an installation: man/man1/ has a page for each command
# (tapeformer-train-lm.1), the completions are where bash, zsh and fish on Debian look for them.
set -euo pipefail

command=${1:?command_files: needs the command and a folder}
folder=${2:?command_files: needs the command and a folder}
version=$("$command" --version)

# Reads the help of the command "$1" and writes its page.
page() {
  awk -v words="$1" -v version="$version" '
    # Without hyphenation of options: in the middle of a line, \% before a word prevents it.
    function roff(text) {
      gsub(/\\/, "\\e", text)
      gsub(/-/, "\\-", text)
      gsub(/ \\-\\-/, " \\%\\-\\-", text)
      sub(/^[.\047]/, "\\\\\\&&", text)
      return text
    }
    function section(title) { if (title != current) { print ".SH " title; current = title } filling = 0 }
    function verbatim(line) { if (!listing) print ".PP\n.EX"; listing = 1; filling = 0; print roff(line) }
    function prose() { if (listing) print ".EE"; listing = 0 }
    # A sentence that ends with its line ends a paragraph.
    function fill(line) { prose(); if (!filling) print ".PP"; print roff(line); filling = line !~ /[.:]$/ }
    # "--lr FLOAT [1e-3] Needs: --x": names bold, the word after the first one italic.
    function heading(text,   words, n, i, word, result) {
      n = split(text, words, " ")
      for (i = 1; i <= n; ++i) {
        word = roff(words[i])
        if (words[i] ~ /^-/) { gsub(/,/, "\\fR, \\fB", word); word = "\\fB" word "\\fR" }
        else if (i == 2 && words[i] ~ /^[A-Z{]/ && words[i] !~ /^(REQUIRED|Needs:|Excludes:)$/) word = "\\fI" word "\\fR"
        result = result " " word
      }
      return substr(result, 2)
    }
    # In the help, options come first.
    function item(name, text) { sub(/see below/, "see above", text); print ".TP"; print name; if (text != "") print roff(text) }
    function tell(line) {
      if (line ~ /^Examples?: /) { prose(); section("EXAMPLES"); sub(/^Examples?: /, "", line); verbatim(line); return }
      if (current == "EXAMPLES") { sub(/^ +/, "", line); verbatim(line); return }
      if (line ~ /^Exit codes: /) { prose(); section("EXIT STATUS"); sub(/^Exit codes: /, "", line) }
      if (line ~ /^  / || line ~ /[^ ]  +[^ ]/) verbatim(line)
      else fill(line)
    }
    { lines[NR] = $0 }
    END {
      name = "tapeformer"
      if (words != "") { name = "tapeformer-" words; gsub(/ /, "-", name) }
      print ".\\\" Made by scripts/command_files.sh."
      print ".TH " toupper(roff(name)) " 1 \"\" \"Tapeformer " version "\" \"User Commands\""
      print ".nr HY 0\n.ad l"
      section("NAME")
      summary = lines[1]
      sub(/[.]$/, "", summary)
      print roff(name) " \\- " tolower(substr(summary, 1, 1)) roff(substr(summary, 2))
      section("SYNOPSIS")
      usage = lines[2]
      sub(/^Usage: /, "", usage)
      n = split(usage, part, " \\[")
      print ".B " roff(part[1])
      for (i = 2; i <= n; ++i) print "[\\fI" tolower(substr(part[i], 1, length(part[i]) - 1)) "\\fR]"
      # In the help, the description is the text after the lists.
      state = ""
      options = commands = footer = 0
      for (i = 3; i <= NR; ++i) {
        if (lines[i] ~ /^(Options|Subcommands):$/) state = lines[i]
        else if (lines[i] == "") { if (lines[i + 1] !~ /^(Options|Subcommands):$/ && state != "") state = "footer" }
        else if (state == "Options:") option[++options] = lines[i]
        else if (state == "Subcommands:") subcommand[++commands] = lines[i]
        else if (state == "footer") footers[++footer] = lines[i]
        else { print "command_files: " name ": unexpected line: " lines[i] > "/dev/stderr"; exit 1 }
      }
      section("DESCRIPTION")
      print roff(summary) "."
      for (i = 1; i <= footer && footers[i] !~ /^(Examples?|Exit codes): /; ++i) tell(footers[i])
      prose()
      if (commands) {
        section("COMMANDS")
        for (j = 1; j <= commands; ++j) {
          split(subcommand[j], part, " ")
          item("\\fB" roff(part[1]) "\\fR", substr(subcommand[j], 31))
          if (part[1] !~ /^(help|version)$/ && example == "") example = name "-" part[1]
        }
        print ".PP\nCommands have pages of their own, for example\n.BR " roff(example) " (1)."
      }
      section("OPTIONS")
      for (j = 1; j <= options; ++j) {
        # A heading of more than 28 characters has its text on the next line, from column 31.
        if (option[j + 1] ~ /^          /) { item(heading(option[j]), substr(option[j + 1], 31)); ++j }
        else item(heading(substr(option[j], 1, 30)), substr(option[j], 31))
      }
      for (; i <= footer; ++i) tell(footers[i])
      prose()
      section("SEE ALSO")
      if (words == "") print "The guide, in docs/guide/ of the sources."
      else print ".BR " (words ~ / / ? "tapeformer\\-" substr(words, 1, index(words, " ") - 1) : "tapeformer") " (1)"
    }'
}

# Writes the page of a command and those of its subcommands.
pages() {
  local help name words=("$@")
  help=$("$command" "${words[@]}" --help)
  name=tapeformer${*:+ $*}
  page "$*" <<< "$help" > "$folder/man/man1/${name// /-}.1"
  while read -r name; do
    case "$name" in help | version) ;; *) pages "${words[@]}" "$name" ;; esac
  done < <(awk '/^Subcommands:$/ { list = 1; next } /^$/ { list = 0 } list { print $1 }' <<< "$help")
}

rm -rf "$folder"
mkdir -p "$folder"/{man/man1,bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d}
pages
"$command" completion --shell bash > "$folder/bash-completion/completions/tapeformer"
"$command" completion --shell zsh > "$folder/zsh/vendor-completions/_tapeformer"
"$command" completion --shell fish > "$folder/fish/vendor_completions.d/tapeformer.fish"
