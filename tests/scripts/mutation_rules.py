#!/usr/bin/env python3
"""scripts/mutation_rules.py finds what it is meant to, and leaves alone what is not code; --since takes what changed."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import mutate  # noqa: E402
import mutation_rules  # noqa: E402


def changed(line):
    """The lines that a line becomes inside a function."""
    text = f"int f() {{\n  {line}\n}}\n"
    return {mutant.rule: mutant.apply(text).split("\n")[1].strip() for mutant in mutation_rules.mutants_of(text)}


class Rules(unittest.TestCase):
    def test_swap_operators(self):
        self.assertEqual(changed("return a + b;"), {"+ to -": "return a - b;"})
        self.assertEqual(changed("return a * b;"), {"* to /": "return a / b;"})
        self.assertEqual(changed("return a / b;"), {"/ to *": "return a * b;"})
        self.assertEqual(changed("return a < b;"), {"< to <=": "return a <= b;"})
        self.assertEqual(changed("return a >= b;"), {">= to >": "return a > b;"})
        self.assertEqual(changed("return a == b;"), {"== to !=": "return a != b;"})
        self.assertEqual(changed("return a && b;"), {"&& to ||": "return a || b;"})
        self.assertEqual(changed("a += b;"), {"+= to -=": "a -= b;"})

    def test_swap_words_and_constants(self):
        self.assertEqual(changed("return std::min(a, b);"), {"min to max": "return std::max(a, b);"})
        self.assertEqual(changed("return std::min<int64_t>(a, b);"),
                         {"min to max": "return std::max<int64_t>(a, b);"})
        self.assertEqual(changed("return sin(x);"), {"sin to cos": "return cos(x);"})
        self.assertEqual(changed("return x.back();"), {"back to front": "return x.front();"})
        self.assertEqual(changed("return true;"), {"true to false": "return false;"})
        self.assertEqual(changed("return x[0];"), {"0 to 1": "return x[1];"})
        self.assertEqual(changed("return 1;"), {"1 to 2": "return 2;"})
        self.assertEqual(changed("return !done(x);"), {"drop !": "return done(x);"})

    def test_drop_calls(self):
        self.assertEqual(changed("queue_.push(x);"), {"drop call": ";"})
        self.assertEqual(changed("optim::check(x);"), {"drop call": ";"})
        self.assertEqual(changed("sums[i].add_(x);"), {"drop call": ";"})

    def test_leave_what_is_no_operation(self):
        for line in ["std::vector<int> x(a);", "Tensor* y = x;", "const auto& y = *x;", "f(auto&& y);", "x = -y;",
                     "return 10;", "return 0.5;", "return 1e-9;", "return x1;", "int64_t count(n);", "return 1'000;",
                     "words.reserve(n);", "int done{};"]:
            self.assertEqual({rule: new for rule, new in changed(line).items() if rule != "drop call"}, {}, line)
        self.assertEqual(changed("words.reserve(n);"), {})
        self.assertEqual(changed("std::vector<int> x(a);"), {})
        self.assertEqual(changed("int64_t count(n);"), {})

    def test_leave_comments_strings_and_messages(self):
        for line in ["// a + b, 0 and true", '#include "a + 1"', 'return "a + 1, \\" true";', "/* a < b\n c == d */",
                     'raise(ErrorKind::shape, "{}", a + 1);', "TAPE_ASSERT(a < b);", "static_assert(a == 1);",
                     "return '0';"]:
            self.assertEqual(changed(line), {}, line)
        self.assertEqual(changed('if (a < b) raise(ErrorKind::shape, "{}", a + 1);'),
                         {"< to <=": 'if (a <= b) raise(ErrorKind::shape, "{}", a + 1);'})

    def test_leave_the_samples_of_tests(self):
        text = ("std::vector<OpSample> samples() {\n  return {{a + 1}};\n}\n\n"
                "const Op op({.name = \"a\", .view = true,\n    .samples = samples(0, 1)});\n\nint g() {\n"
                "  return 1;\n}\n")
        self.assertEqual([(one.rule, one.line) for one in mutation_rules.mutants_of(text)],
                         [("true to false", 5), ("1 to 2", 9)])

    def test_find_places_in_the_library(self):
        found = mutation_rules.mutants_of((ROOT / "autograd/ops/norm/softmax.cpp").read_text())
        self.assertGreater(len(found), 15)
        self.assertGreater(len({one.rule for one in found}), 5)


class Since(unittest.TestCase):
    def test_reads_lines_of_a_diff(self):
        diff = ("diff --git a/nn/a.cpp b/nn/a.cpp\n--- a/nn/a.cpp\n+++ b/nn/a.cpp\n@@ -3 +3,2 @@ int f() {\n-old\n+new\n"
                "+++ b/x.cpp\n@@ -9,2 +10,0 @@\n-gone\n--- gone\n@@ -20 +19 @@\n-x\n+y\n"
                "diff --git a/b.cpp b/b.cpp\n--- a/b.cpp\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
                "diff --git a/c.h b/c.h\n--- /dev/null\n+++ b/c.h\n@@ -0,0 +1,3 @@\n+a\n+b\n+c\n")
        self.assertEqual(mutation_rules.lines_of_diff(diff), {"nn/a.cpp": {3, 4, 19}, "c.h": {1, 2, 3}})
        self.assertEqual(mutation_rules.lines_of_diff(""), {})

    def test_mutates_changed_lines_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)

            def git(*words):
                subprocess.run(["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=b", *words], check=True,
                               capture_output=True)

            source = root / "optim" / "one.cpp"
            source.parent.mkdir()
            source.write_text("int f() {\n  return a + b;\n}\n\nint g() {\n  return a < b;\n}\n")
            (root / "optim" / "other.cpp").write_text("int h() {\n  return a + b;\n}\n")
            git("init", "-q")
            git("add", ".")
            git("commit", "-qm", "first")
            source.write_text("int f() {\n  return a * b;\n}\n\nint g() {\n  return a < b;\n}\n")  # not committed
            with mock.patch.object(mutate, "ROOT", root):
                lines = mutate.lines_since("HEAD")
                self.assertEqual(lines, {"optim/one.cpp": {2}})
                found = list(mutate.in_random_order(root, "optimizers", 1, lines))
                self.assertEqual([(name, mutant.rule) for name, mutant in found], [("optim/one.cpp", "* to /")])
                self.assertEqual(len(list(mutate.in_random_order(root, "optimizers", 1))), 3)
                self.assertEqual(list(mutate.in_random_order(root, "optimizers", 1, {})), [])
                with self.assertRaises(subprocess.CalledProcessError):
                    mutate.lines_since("no-such-commit")

    def test_finds_statements_of_several_lines_by_any_of_them(self):
        text = "int f() {\n  queue_.push(x,\n              y);\n}\n"
        (mutant,) = mutation_rules.mutants_of(text)
        self.assertEqual(list(mutant.lines()), [2, 3])


if __name__ == "__main__":
    unittest.main()
