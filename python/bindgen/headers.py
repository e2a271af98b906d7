"""Reads the library's public headers with libclang: functions, classes, options and enumerations, with their comments."""

import dataclasses
import pathlib
import re
import subprocess

import clang.cindex as ci

KIND = ci.CursorKind


@dataclasses.dataclass
class Parameter:
    name: str
    type: ci.Type
    default: str | None  # its C++ expression


@dataclasses.dataclass
class Function:
    name: str
    qualified: str  # "tape::linalg::solve", "tape::nn::Linear::forward"
    header: str  # relative to the root of the repository
    parameters: list[Parameter]
    result: ci.Type
    comment: str
    is_const: bool = False
    is_static: bool = False


@dataclasses.dataclass
class Field:
    name: str
    type: ci.Type
    comment: str


@dataclasses.dataclass
class Class:
    name: str
    qualified: str
    header: str
    comment: str
    bases: list[str]  # qualified, all of them, nearest first
    constructors: list[Function]
    methods: list[Function]
    fields: list[Field]  # public ones, those of bases first
    is_abstract: bool


@dataclasses.dataclass
class Enumeration:
    name: str
    qualified: str
    header: str
    values: list[str]


class Comments:
    """Doc comments by place in a header: the `///` lines above a declaration, `///<` after it, or those of its group."""

    def __init__(self, path):
        self.lines = path.read_text().splitlines()
        self.groups = {}  # line number -> comment of the group that the line is in
        open_groups, comment = [], []
        for number, line in enumerate(self.lines, 1):
            text = line.strip()
            if text == "/// @{":
                open_groups.append(comment)
                comment = []
            elif text == "/// @}":
                if open_groups:
                    open_groups.pop()
                comment = []
            elif text.startswith("///") and not text.startswith("///<"):
                comment = comment + [text[3:].removeprefix(" ")]
            else:
                comment = []
            if open_groups:
                self.groups[number] = open_groups[-1]

    def of(self, first, last):
        above, number = [], first - 1
        while (
            number >= 1
            and (text := self.lines[number - 1].strip()).startswith("///")
            and "@{" not in text
            and "@}" not in text
        ):
            above.insert(0, text[3:].removeprefix(" "))
            number -= 1
        if above:
            return "\n".join(above)
        for line in range(first, last + 1):
            if "///<" in self.lines[line - 1]:
                texts = [self.lines[line - 1].split("///<", 1)[1].strip()]
                # A trailing comment goes on in the next lines.
                while line < len(self.lines) and self.lines[line].strip().startswith("///<"):
                    texts.append(self.lines[line].strip()[4:].strip())
                    line += 1
                return " ".join(texts)
        return "\n".join(self.groups.get(first, []))


class Headers:
    """All that the umbrella header declares in namespace tape, except namespaces `detail` and `kernels`."""

    def __init__(self, root, compiler, options=()):
        self.root = pathlib.Path(root).resolve()
        self.functions, self.classes, self.enumerations = [], {}, {}
        self._comments = {}
        arguments = ["-x", "c++", "-std=c++20", f"-I{self.root}", *options]
        for folder in system_folders(compiler):
            arguments += ["-isystem", folder]
        unit = ci.Index.create().parse(
            str(self.root / "tapeformer.h"), args=arguments, options=ci.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES
        )
        errors = [str(d) for d in unit.diagnostics if d.severity >= ci.Diagnostic.Error]
        if errors:
            raise SystemExit("the headers do not compile with libclang:\n" + "\n".join(errors[:10]))
        self._walk(unit.cursor)

    def _header(self, cursor):
        """The header of a declaration relative to the root; None outside of the repository."""
        if not cursor.location.file:
            return None
        path = pathlib.Path(cursor.location.file.name).resolve()
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else None

    def _comment(self, cursor):
        header = self._header(cursor)
        if header not in self._comments:
            self._comments[header] = Comments(self.root / header)
        return self._comments[header].of(cursor.extent.start.line, cursor.extent.end.line)

    def _walk(self, parent):
        for cursor in parent.get_children():
            header = self._header(cursor)
            if cursor.kind == KIND.NAMESPACE:
                if cursor.spelling not in ("detail", "kernels"):
                    self._walk(cursor)
            elif header is None:
                continue
            elif cursor.kind == KIND.FUNCTION_DECL and not cursor.spelling.startswith("operator"):
                self.functions.append(self._function(cursor, header))
            elif cursor.kind in (KIND.CLASS_DECL, KIND.STRUCT_DECL) and cursor.is_definition():
                found = self._class(cursor, header)
                self.classes[found.qualified] = found
            elif cursor.kind == KIND.ENUM_DECL:
                values = [c.spelling for c in cursor.get_children() if c.kind == KIND.ENUM_CONSTANT_DECL]
                qualified = qualified_name(cursor)
                self.enumerations[qualified] = Enumeration(cursor.spelling, qualified, header, values)

    def _function(self, cursor, header):
        parameters = [Parameter(p.spelling, p.type, default_of(p)) for p in cursor.get_arguments()]
        return Function(
            cursor.spelling,
            qualified_name(cursor),
            header,
            parameters,
            cursor.result_type,
            self._comment(cursor),
            cursor.is_const_method(),
            cursor.is_static_method(),
        )

    def _class(self, cursor, header):
        found = Class(
            cursor.spelling,
            qualified_name(cursor),
            header,
            self._comment(cursor),
            [],
            [],
            [],
            [],
            cursor.is_abstract_record(),
        )
        self._add_members(cursor, found)
        return found

    def _add_members(self, cursor, found):
        for child in cursor.get_children():
            if child.kind == KIND.CXX_BASE_SPECIFIER:
                base = child.type.get_canonical().get_declaration()
                found.bases.append(qualified_name(base))
                template = ci.conf.lib.clang_getSpecializedCursorTemplate(base)
                self._add_base(base if base.is_definition() and not template else template or base, found)
            if child.access_specifier != ci.AccessSpecifier.PUBLIC:
                continue
            if child.kind == KIND.FIELD_DECL:
                found.fields.append(Field(child.spelling, child.type, self._comment(child)))
            elif (
                child.kind == KIND.CXX_METHOD
                and not child.spelling.startswith("operator")
                and child.availability != ci.AvailabilityKind.NOT_AVAILABLE
            ):
                found.methods.append(self._function(child, self._header(child)))
            elif child.kind == KIND.CONSTRUCTOR and not child.is_copy_constructor() and not child.is_move_constructor():
                if child.availability != ci.AvailabilityKind.NOT_AVAILABLE and child.semantic_parent == cursor:
                    found.constructors.append(self._function(child, self._header(child)))

    def _add_base(self, base, found):
        """Adds what is inherited: names of further bases, and public fields; of a base that is a detail, everything."""
        if self._header(base) and "::detail::" in qualified_name(base):
            self._add_members(base, found)
            return
        constructors, methods = found.constructors, found.methods
        found.constructors, found.methods = [], []
        if self._header(base):
            self._add_members(base, found)
        found.constructors, found.methods = constructors, methods


def default_of(parameter):
    tokens = [t.spelling for t in parameter.get_tokens()]
    return " ".join(tokens[tokens.index("=") + 1 :]) if "=" in tokens else None


def qualified_name(cursor):
    parts = []
    while cursor and cursor.kind != KIND.TRANSLATION_UNIT:
        parts.insert(0, cursor.spelling)
        cursor = cursor.semantic_parent
    return "::".join(parts)


def system_folders(compiler):
    """The compiler's own include folders: libclang has no standard library."""
    run = subprocess.run(
        [compiler, "-std=c++20", "-E", "-x", "c++", "-", "-v"], input="", capture_output=True, text=True
    )
    listed = re.search(r"#include <\.\.\.>.*?\n(.*?)End of search", run.stderr, re.DOTALL)
    return [line.strip() for line in listed[1].splitlines()] if listed else []
