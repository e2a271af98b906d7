// Compares a page of documentation with the programs it shows:
//   check_page PAGE.md EXAMPLES_SOURCES EXAMPLES_PROGRAMS [TABLE_SOURCE]
// Each ```cpp block with a main() must equal one of the example files, and the ```text block after it must equal the
// output of that program. Each ```cuda block must equal a file too. Integers must be equal. Other numbers may differ by
// the relative tolerance that the page states
// (<!-- numbers within 0.01 -->) and by one in the last digit, because CPUs round differently. Numbers below 1e-6 are
// rounding errors: any two of them are accepted as equal. With TABLE_SOURCE, the code in the second column of the
// page's tables must be in that file. Exits with 1 and a message at the first difference.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Output of a program that runs in a temporary empty folder.
std::string output_of(const std::filesystem::path& program) {
  const std::string command = "folder=$(mktemp -d) && cd \"$folder\" || exit; '" + program.string() +
                              "' 2>&1; status=$?; rm -rf \"$folder\"; exit $status";
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot start " + program.string());
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  if (const int status = pclose(pipe); status != 0)
    throw std::runtime_error(program.string() + " ended with status " + std::to_string(status) + ":\n" + text);
  return text;
}

struct Block {
  std::string language, text;
};

std::vector<Block> blocks_of(const std::string& page) {
  std::vector<Block> blocks;
  std::istringstream lines(page);
  std::optional<Block> open;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("```")) {
      if (open) open->text += line + "\n";
    } else if (open) {
      blocks.push_back(*open);
      open.reset();
    } else {
      open = Block{line.substr(3), ""};
    }
  }
  return blocks;
}

/// Tolerance of a number by its digits: one in the last digit.
double last_digit(const std::string& number) {
  const size_t e = number.find('e'), point = number.find('.');
  const double exponent = e == std::string::npos ? 0 : std::atof(number.c_str() + e + 1);
  const size_t end = std::min(e, number.size());
  const double digits = point == std::string::npos ? 0 : static_cast<double>(end - point - 1);
  return std::pow(10.0, exponent - digits);
}

bool agree(const std::string& a, const std::string& b, double tolerance) {
  if (a == b) return true;
  const bool whole = a.find_first_of(".e") == std::string::npos && b.find_first_of(".e") == std::string::npos;
  const double x = std::atof(a.c_str()), y = std::atof(b.c_str());
  if (whole) return false;
  if (std::abs(x) < 1e-6 && std::abs(y) < 1e-6) return true;
  return std::abs(x - y) <= tolerance * std::abs(x) + 1.001 * std::max(last_digit(a), last_digit(b));
}

/// Splits text into numbers and the text between them, without spaces before numbers (columns move with signs).
void split(const std::string& text, std::vector<std::string>& numbers, std::string& rest) {
  static const std::regex number("[ ]*(-?[0-9]+(?:[.][0-9]+)?(?:e[-+]?[0-9]+)?)");
  size_t end = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), number), last; it != last; ++it) {
    rest += text.substr(end, static_cast<size_t>(it->position()) - end) + "#";
    numbers.push_back((*it)[1]);
    end = static_cast<size_t>(it->position() + it->length());
  }
  rest += text.substr(end);
}

void compare(const std::string& name, const std::string& shown, const std::string& printed, double tolerance) {
  std::vector<std::string> expected, found;
  std::string expected_rest, found_rest;
  split(shown, expected, expected_rest);
  split(printed, found, found_rest);
  if (expected_rest != found_rest || expected.size() != found.size())
    throw std::runtime_error("the page does not show the output of " + name + ", which is now:\n" + printed);
  for (size_t i = 0; i < expected.size(); ++i)
    if (!agree(expected[i], found[i], tolerance))
      throw std::runtime_error("the page shows " + expected[i] + " but " + name + " prints " + found[i] + " (number " +
                               std::to_string(i + 1) + " of its output, which is now:)\n" + printed);
}

/// Name of the file below `sources` with this extension and text. Throws if there is none.
std::string file_with(const std::filesystem::path& sources, const std::string& extension, const std::string& text) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(sources))
    if (entry.path().extension() == extension && read(entry.path()) == text) return entry.path().stem();
  throw std::runtime_error("a program of the page is not in " + sources.string() + ":\n" + text);
}

void check(const std::string& page_path, const std::filesystem::path& sources, const std::filesystem::path& programs) {
  const std::string page = read(page_path);
  std::smatch stated;
  const bool states = std::regex_search(page, stated, std::regex("<!-- numbers within ([0-9.e-]+) -->"));
  const std::vector<Block> blocks = blocks_of(page);
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].language == "cuda") file_with(sources, ".cu", blocks[i].text);
    if (blocks[i].language != "cpp" || blocks[i].text.find("int main(") == std::string::npos) continue;
    const std::string name = file_with(sources, ".cpp", blocks[i].text);
    if (i + 1 == blocks.size() || blocks[i + 1].language != "text")
      throw std::runtime_error(name + ": the page does not show its output");
    if (!states) throw std::runtime_error("the page does not state the tolerance of its numbers");
    compare(name, blocks[i + 1].text, output_of(programs / name), std::stod(stated[1]));
  }
}

/// The text without whitespace, so that line breaks do not matter.
std::string without_spaces(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c); });
  return text;
}

/// Checks that the code in the second column of the page's tables is in `source`.
void check_table(const std::string& page_path, const std::filesystem::path& source) {
  const std::string code = without_spaces(read(source));
  std::istringstream lines(read(page_path));
  static const std::regex row("^\\| .* \\| `(.*)` \\|$"), escaped_bar("\\\\\\|");  // a bar would end the cell
  int rows = 0;
  std::smatch cells;
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_match(line, cells, row)) continue;
    ++rows;
    const std::string cell = std::regex_replace(cells[1].str(), escaped_bar, "|");
    if (code.find(without_spaces(cell)) == std::string::npos)
      throw std::runtime_error("not in " + source.string() + ": " + cell);
  }
  if (rows == 0) throw std::runtime_error("the page has no table of code");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::cerr << "usage: check_page PAGE.md EXAMPLES_SOURCES EXAMPLES_PROGRAMS [TABLE_SOURCE]\n";
    return 2;
  }
  try {
    check(argv[1], argv[2], std::filesystem::absolute(argv[3]));
    if (argc == 5) check_table(argv[1], argv[4]);
  } catch (const std::exception& error) {
    std::cerr << argv[1] << ": " << error.what() << "\n";
    return 1;
  }
  return 0;
}
