"""Builds the mutants of scripts/mutate.py and runs tests with them, all on copies."""

import hashlib
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time

FOLDERS = ["base", "autograd", "nn", "optim", "models", "text", "train", "inspect"]
LIMIT = 16 << 30  # bytes of address space


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


class Build:
    """Copies of the sources and of a build's objects and test programs."""

    def __init__(self, root, build, out):
        self.root, self.build, self.out = root, build, out
        self.sources, self.objects, self.library = out / "sources", out / "objects", out / "library"
        self.seconds = {}
        for folder in (self.sources, self.objects, self.library, out / "programs", out / "mutant"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        commands = subprocess.run(["ninja", "-C", str(build), "-t", "commands", "tapeformer_inspect"], check=True,
                                  capture_output=True, text=True).stdout.splitlines()
        self.links = {}  # by file name of a component's library: the words of the linker's command line
        for line in commands:
            if found := re.search(r"-Wl,-soname,(libtapeformer_\S+)", line):
                self.links[found[1]] = shlex.split(line.removeprefix(": && ").removesuffix(" && :"))
        self.compiles = {}  # by object: the words of the compiler's command line
        for line in commands:
            if " -c " in line and " -o " in line:
                words = shlex.split(line)
                self.compiles[words[words.index("-o") + 1]] = words
        self.copy_sources()
        for name in self.compiles:
            (self.objects / name).parent.mkdir(parents=True, exist_ok=True)
            if not (build / name).exists():
                sys.exit(f"mutate: {build / name} is missing: build everything first")
            shutil.copy2(build / name, self.objects / name)

    def copy_sources(self):
        for folder in FOLDERS:
            shutil.copytree(self.root / folder, self.sources / folder, ignore=shutil.ignore_patterns("web"))
        self.parts = {}  # by object: its sources, several in a unity build
        for made, words in self.compiles.items():
            source = pathlib.Path(words[words.index("-c") + 1])
            text = source.read_text() if "/Unity/" in str(source) else f'#include "{source}"'
            parts = [pathlib.Path(part) for part in re.findall(r'#include "(.*)"', text)]
            self.parts[made] = [str(part.relative_to(self.root)) for part in parts if part.is_relative_to(self.root)]
        self.keep_baseline()
        self.split = set()  # objects of several sources that are now compiled one by one

    def keep_baseline(self):
        """Reuses objects of an earlier run as long as no source has changed."""
        files = sorted(path for path in self.sources.rglob("*") if path.is_file())
        now = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
        note = self.out / "baseline" / "sources.txt"
        if not note.exists() or note.read_text() != now:
            shutil.rmtree(note.parent, ignore_errors=True)
            note.parent.mkdir()
            note.write_text(now)

    def objects_of(self, name):
        """Returns the (object, source) pairs to recompile for a source; for a header, all objects that depend on it."""
        if name.endswith(".cpp"):
            return [(made, name) for made, parts in self.parts.items() if name in parts]
        read = subprocess.run(["ninja", "-C", str(self.build), "-t", "deps", *self.compiles], check=True,
                              capture_output=True, text=True).stdout
        found = []
        for block in filter(None, read.split("\n\n")):
            made, *files = block.split()
            made = made.removesuffix(":")
            if any(os.path.normpath(self.build / file) == str(self.root / name) for file in files):
                found += [(made, part) for part in self.parts[made]]
        return found

    def compile(self, made, source, out):
        """Compiles a copied source and returns whether that worked."""
        words = list(self.compiles[made])
        words = words[next(i for i, word in enumerate(words) if re.search(r"(?:\+\+|clang\+\+)(?:-\d+)?$", word)):]
        words[words.index("-o") + 1] = str(out)
        words[words.index("-c") + 1] = str(self.sources / source)
        depends = words.index("-MD")
        del words[depends:depends + 5]  # -MD -MT x -MF x
        words[1:1] = [f"-I{self.sources}"]
        return subprocess.run([*words, "-w"], cwd=self.build, capture_output=True, check=False).returncode == 0

    def baseline(self, made, source):
        """Returns the object of an unchanged copied source, because objects contain paths."""
        path = self.out / "baseline" / made / f"{source}.o"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            if not self.compile(made, source, path):
                sys.exit(f"mutate: {source} does not compile without a mutation")
        return path

    def make(self, name, mutant):
        """Compiles and links the library with one changed source. Returns "made" or why there is nothing to test."""
        objects = self.objects_of(name)
        if not objects:
            sys.exit(f"mutate: no object is built from {name}")
        original = (self.sources / name).read_text()
        if "ModuleCheck" in original:  # it would be registered twice
            self.split.update(made for made, _ in objects if len(self.parts[made]) > 1)
        before = {(made, part): self.baseline(made, part) for made, part in objects}
        replaced, same = {}, True
        try:
            (self.sources / name).write_text(mutant.apply(original))
            for number, (made, part) in enumerate(objects):
                out = self.out / "mutant" / f"{number}.o"
                if not self.compile(made, part, out):
                    return "does not compile"
                same = same and out.read_bytes() == before[made, part].read_bytes()
                replaced[made, part] = out
        finally:
            (self.sources / name).write_text(original)
        return "same code" if same else self.link_libraries(replaced)

    def link_libraries(self, replaced):
        """Links the components that contain a replaced object, all of them if there is none. Programs take the others from
        the build."""
        for stale in self.library.iterdir():
            stale.unlink()
        changed = {made for made, _ in replaced}
        for soname, words in self.links.items():
            if (not changed or changed & set(words)) and not self.link(soname, words, replaced):
                return "does not compile"
        return "made"

    def link(self, soname, command, replaced):
        words = []
        for word in command:
            parts = self.parts.get(word, [])
            if word in self.split or (len(parts) == 1 and (word, parts[0]) in replaced):
                words += [str(replaced.get((word, part)) or self.baseline(word, part)) for part in parts]
            else:
                # The linker uses the first definition of a function.
                words += [str(replaced[word, part]) for part in parts if (word, part) in replaced]
                is_library = not parts and not word.startswith("-") and ".so" in word
                words.append(str(self.build / word) if is_library else word)
        words.append("-Wl,--allow-multiple-definition")
        words[words.index("-o") + 1] = str(self.library / soname)
        return subprocess.run(words, cwd=self.objects, capture_output=True, check=False).returncode == 0

    def check(self, steps):
        """Checks that the tests pass without a mutant, and records their duration until something changes."""
        for program in sorted({program for program, _ in steps}):
            shutil.copy2(self.build / "tests" / program, self.out / "programs" / program)
        if self.link_libraries({}) != "made":
            sys.exit("mutate: the libraries do not link")
        note = self.out / "seconds.json"
        known = json.loads(note.read_text()) if note.exists() else {}
        for program, chosen in sorted(steps):
            contents = (self.out / "programs" / program).read_bytes() + (self.out / "baseline/sources.txt").read_bytes()
            key = f"{program} {chosen} {hashlib.sha256(contents).hexdigest()}"
            if key not in known:
                began = time.monotonic()
                failed = self.run(program, chosen)
                if failed:
                    sys.exit(f"mutate: {program} fails without a mutant: {failed}")
                known[key] = time.monotonic() - began
                note.write_text(json.dumps(known, indent=1))
            self.seconds[program, chosen] = known[key]

    def run(self, program, chosen):
        """Returns the first test that failed, or was running at a crash or timeout; "" if all pass."""
        log, scratch = self.out / "tests.log", self.out / "scratch"
        scratch.mkdir(exist_ok=True)
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.library), "OMP_WAIT_POLICY": "passive",
                       "TMPDIR": str(scratch)}
        limit = 60 + 4 * self.seconds.get((program, chosen), 120)
        with log.open("w") as out:
            tests = subprocess.Popen([str(self.out / "programs" / program), f"--gtest_filter={chosen}",
                                      "--gtest_fail_fast"], stdout=out, stderr=subprocess.STDOUT, env=environment,
                                     cwd=scratch, start_new_session=True, preexec_fn=limited)
            try:
                code = tests.wait(timeout=limit)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                try:
                    os.killpg(tests.pid, signal.SIGKILL)  # including processes that a test started
                except ProcessLookupError:
                    pass
                tests.wait()
        shutil.rmtree(scratch, ignore_errors=True)
        if code == 0:
            return ""
        text = log.read_text(errors="replace")
        failed = re.findall(r"\[  FAILED  \] ([\w/.]+)", text)
        if failed:
            return failed[0]
        begun = re.findall(r"\[ RUN      \] ([\w/.]+)", text)
        what = "out of time" if code is None else f"signal {-code}" if code < 0 else f"exit {code}"
        return f'{begun[-1] if begun else program} ({what})'
