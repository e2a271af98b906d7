"""Pages of the C++ reference, one per folder of headers, from the XML that scripts/reference.sh lets Doxygen write."""
import html
import pathlib
import posixpath
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CppLexer

TITLES = {
    "autograd": "Tensors and gradients", "autograd/diagnose": "Diagnosis", "autograd/gradcheck": "Gradient checks",
    "autograd/io": "Files", "autograd/kernels/runtime/common": "Threads", "autograd/ops": "Linear algebra and fallbacks",
    "autograd/tape": "The tape", "autograd/transforms": "Transforms", "base": "Errors and terminals", "nn": "Layers",
    "nn/gradcheck": "Gradient checks of modules", "nn/norm": "Normalization", "models/encoder_decoders": "Encoder-decoders",
    "models/folders": "Model folders", "models/sentence": "Sentence encoders", "optim": "Optimizers", "inspect": "Inspection",
    "text": "Text and tokenizers", "models": "Model families", "models/gguf": "GGUF", "models/onnx": "ONNX",
}
PARTS = {
    "autograd": "Tensors and operations", "nn": "Layers", "optim": "Optimizers", "text": "Text", "models": "Models",
    "train": "Training", "inspect": "Inspection", "base": "Errors and terminals",
}
WORDS = {"Attributes", "Encoding", "Lines", "Number", "Padding", "Parts", "Positions", "Unique", "Values"}
SHOWN = ("public", "protected")


@dataclass
class Entry:
    """A class or one namespace member, where its declaration is."""

    name: str
    header: str
    line: int
    node: ElementTree.Element


@dataclass
class Page:
    folder: str
    title: str
    entries: list[Entry] = field(default_factory=list)
    markdown: str = ""

    @property
    def path(self):
        return f"reference/cpp/{self.folder.replace('/', '_')}.md"


def anchor_of(name):
    """`tape::nn::Linear` -> `tape.nn.Linear`; other characters of operators by their code."""
    return re.sub(r"[^\w.~]", lambda match: f"-{ord(match[0]):x}", name.replace("::", "."))


def title_of(folder):
    if folder in TITLES:
        return TITLES[folder]
    words = folder.rpartition("/")[2].replace("_", " ")
    return f"Operations: {words}" if folder.startswith("autograd/ops/") else words.capitalize()


class Reference:
    def __init__(self, folder):
        self.pages: dict[str, Page] = {}
        self.anchors: dict[str, str] = {}  # Doxygen's id -> "PAGE.md#anchor"
        self.by_name: dict[tuple[str, str], str] = {}  # (header, last part of the name) -> the same
        for path in sorted(pathlib.Path(folder).glob("*.xml")):
            if path.name.startswith(("namespacetape", "classtape", "structtape", "uniontape")):
                self._collect(ElementTree.parse(path).getroot().find("compounddef"))
        for page in self.pages.values():
            page.entries.sort(key=lambda entry: (entry.header, entry.line))
            for entry in page.entries:
                self._index(page, entry)
        for page in self.pages.values():
            page.markdown = self._page(page)

    def headers(self):
        return sorted({entry.header for page in self.pages.values() for entry in page.entries})

    def nav(self):
        parts = {}
        for folder in sorted(self.pages, key=lambda name: (list(PARTS).index(name.split("/")[0]), name)):
            parts.setdefault(PARTS[folder.split("/")[0]], []).append(self.pages[folder].path)
        return [pages[0] if len(pages) == 1 else {title: pages} for title, pages in parts.items()]

    def index(self):
        lines = ["# C++ reference", "",
                 "`#include <tapeformer.h>` declares everything below; a page lists the public names of one folder of headers.", "",
                 "| page | headers |", "| -- | -- |"]
        for path in (path for part in self.nav() for path in ([part] if isinstance(part, str) else [*part.values()][0])):
            page = next(page for page in self.pages.values() if page.path == path)
            headers = dict.fromkeys(entry.header for entry in page.entries)
            links = ", ".join(f"[{posixpath.basename(header)}]({posixpath.basename(path)}#{anchor_of(header)})" for header in headers)
            lines.append(f"| [{page.title}]({posixpath.basename(path)}) | {links} |")
        return "\n".join(lines) + "\n"

    def _collect(self, compound):
        name = compound.findtext("compoundname")
        if compound.get("kind") != "namespace":
            if compound.get("prot") in SHOWN and "<" not in name:
                self._add(name, compound)
            return
        for member in compound.iter("memberdef"):
            self._add(f"{name}::{member.findtext('name')}", member)

    def _add(self, name, node):
        location = node.find("location")
        header = location.get("declfile") or location.get("file")
        if not header.endswith(".h") or header.startswith("/"):
            return
        folder = posixpath.dirname(header)
        page = self.pages.setdefault(folder, Page(folder, title_of(folder)))
        page.entries.append(Entry(name, header, int(location.get("declline") or location.get("line")), node))

    def _index(self, page, entry):
        target = f"{page.path}#{anchor_of(entry.name)}"
        self.anchors[entry.node.get("id")] = target
        self.by_name.setdefault((entry.header, entry.name.rpartition("::")[2]), target)
        for member in entry.node.iter("memberdef"):
            self.anchors.setdefault(member.get("id"), f"{page.path}#{anchor_of(entry.name + '::' + member.findtext('name'))}")

    def _page(self, page):
        lines = ["---", f'title: "{page.title}"', "---", "", f"# {page.title}", ""]
        header, shown = "", set()
        for i, entry in enumerate(page.entries):
            if entry.header != header:
                header = entry.header
                source = posixpath.relpath(f"source/{header}.md", posixpath.dirname(page.path))
                lines += [f"## {posixpath.basename(header)} {{ #{anchor_of(header)} .header }}", "",
                          f"`#include <tapeformer.h>`, declared in [{header}]({source})", ""]
            if entry.name in shown:
                continue
            shown.add(entry.name)
            lines += [f"### `{entry.name}` {{ #{anchor_of(entry.name)} }}", ""]
            same = [other for other in page.entries[i:] if other.name == entry.name]
            body = self._class(page, entry) if entry.node.tag == "compounddef" else self._members(page, same)
            # Blank lines would end the HTML in Markdown.
            lines += [f'<div class="api">{body}</div>'.replace("\n", "&#10;"), ""]
        return "\n".join(lines)

    def _members(self, page, entries):
        """Declarations of one name; a comment that several overloads share follows the last of them."""
        parts, pending = [], []
        docs = [self._docs(page, entry.node) for entry in entries]
        for i, entry in enumerate(entries):
            pending.append((signature(entry.node), entry.header, entry.line))
            if i + 1 == len(entries) or docs[i + 1] != docs[i]:
                parts.append(self._declarations(page, pending) + docs[i] + self._enum(page, entry.node))
                pending = []
        return "".join(parts)

    def _declarations(self, page, items):
        up = "../" * posixpath.dirname(page.path).count("/") + "../"
        links = "".join(f'<a class="src" href="{up}source/{header}.html#L-{line}" title="{header}, line {line}">L{line}</a>'
                        for _, header, line in items[:1])
        return links + code("\n".join(text for text, _, _ in items))

    def _enum(self, page, node):
        values = [(value.findtext("name"), self._docs(page, value)) for value in node.findall("enumvalue")]
        if not any(docs for _, docs in values):
            return ""
        return table((f"<code>{html.escape(name)}</code>", docs) for name, docs in values)

    def _class(self, page, entry):
        node, short = entry.node, entry.name.rpartition("::")[2]
        bases = ", ".join(squeeze(base) for base in node.findall("basecompoundref") if base.get("prot") == "public")
        head = f"{template(node)}{node.get('kind')} {short}{' : ' + bases if bases else ''};"
        parts = [self._declarations(page, [(head, entry.header, entry.line)]), self._docs(page, node)]
        members = [member for member in node.iter("memberdef") if member.get("prot") in SHOWN and member.get("kind") != "friend"]
        fields = [member for member in members if member.get("kind") == "variable"]
        if fields:
            parts.append(table((self._field(entry, member), self._docs(page, member)) for member in fields))
        groups = {}
        for member in members:
            if member.get("kind") != "variable":
                line = int(member.find("location").get("declline") or member.find("location").get("line"))
                name = f"{entry.name}::{member.findtext('name')}"
                groups.setdefault(name, []).append(Entry(name, entry.header, line, member))
        for name, same in groups.items():
            parts.append(f'<div class="member" id="{anchor_of(name)}">{self._members(page, same)}</div>')
        return "".join(parts)

    def _field(self, entry, member):
        name = member.findtext("name")
        text = f"{squeeze(member.find('type'))} {name}{member.findtext('argsstring') or ''} {squeeze(member.find('initializer'))}"
        return f'<code id="{anchor_of(entry.name + "::" + name)}">{html.escape(text.strip())}</code>'

    def _docs(self, page, node):
        paragraphs = [paragraph for part in ("briefdescription", "detaileddescription") for paragraph in node.findall(f"{part}/para")]
        text = "".join(block for paragraph in paragraphs for block in self._paragraph(page, paragraph))
        # Doxygen ends the first sentence, the brief description, at each point with a space behind it.
        return re.sub(r"(\bet al\.)</p><p>", r"\1 ", text).replace(" .</p><p>. ", " .. ")

    def _paragraph(self, page, paragraph):
        """HTML blocks of a <para>; code in it becomes a block of its own."""
        inline = self._inline(page, paragraph)
        for piece in re.split(r"(<pre>.*?</pre>|<ul>.*?</ul>)", inline, flags=re.DOTALL):
            if piece.strip():
                yield piece if piece.startswith(("<pre>", "<ul>")) else f"<p>{piece.strip()}</p>"

    def _inline(self, page, node):
        text = words(node.text)
        for child in node:
            text += self._element(page, child) + words(child.tail)
        return text

    def _element(self, page, child):
        inner = self._inline(page, child)
        match child.tag:
            case "computeroutput":
                return f"<code>{inner}</code>"
            case "verbatim":
                return f"<pre><code>{html.escape(child.text, quote=False)}</code></pre>"
            case "itemizedlist":
                return f"<ul>{inner}</ul>"
            case "listitem":
                return f"<li>{inner}</li>"
            # Doxygen also links words that begin a sentence and happen to name a class.
            case "ref" if child.get("refid") in self.anchors and not (inner in WORDS and (child.tail or "").startswith(" ")):
                target, _, anchor = self.anchors[child.get("refid")].partition("#")
                here = "" if target == page.path else posixpath.basename(target)[:-3] + ".html"
                return f'<a href="{here}#{anchor}">{inner}</a>'
            case "ulink" if not child.get("url").startswith("http"):
                return f"[{inner}]({child.get('url')})"  # no link: such as an error's "[name](file:line)"
            case "ulink":
                return f'<a href="{html.escape(child.get("url"))}">{inner}</a>'
            case "lsquo":
                return "`"
            case "rsquo":
                return "'"
            case "ndash":
                return "--"
            case _:
                return inner


def words(text):
    return re.sub(r"\s+", " ", html.escape(text or "", quote=False))


def squeeze(node):
    """Text of a type as it is written in the headers: Doxygen adds spaces."""
    if node is None:
        return ""
    text = " ".join("".join(node.itertext()).split())
    text = re.sub(r" ?([&*]+)$", r"\1", text)
    return re.sub(r"< ", "<", re.sub(r" >", ">", text))


def template(node):
    parameters = node.find("templateparamlist")
    if parameters is None:
        return ""
    names = []
    for parameter in parameters:
        name = parameter.findtext("declname")
        default = squeeze(parameter.find("defval"))
        names.append(f"{squeeze(parameter.find('type'))} {name or ''}".strip() + (f" = {default}" if default else ""))
    return f"template <{', '.join(names)}>\n"


def signature(member, width=96):
    """Declaration of a member, with one parameter per line if it does not fit into `width` columns."""
    kind, name = member.get("kind"), member.findtext("name")
    if kind == "typedef":
        return f"using {name} = {squeeze(member.find('type'))};"
    if kind == "enum":
        values = ", ".join(value.findtext("name") for value in member.findall("enumvalue"))
        line = f"enum class {name} {{ {values} }};" if member.get("strong") == "yes" else f"enum {name} {{ {values} }};"
        return line if len(line) <= width else line.replace("{ ", "{\n  ").replace(", ", ",\n  ").replace(" }", "\n}")
    if kind == "define":
        return f"#define {name}"
    words = "static " if member.get("static") == "yes" and kind == "function" else ""
    words += "explicit " if member.get("explicit") == "yes" else ""
    words += "virtual " if member.get("virt") != "non-virtual" and kind == "function" else ""
    result = squeeze(member.find("type"))
    if kind == "variable":
        return f"{result} {name}{' ' + squeeze(member.find('initializer')) if member.find('initializer') is not None else ''};"
    arguments = " ".join((member.findtext("argsstring") or "").replace("< ", "<").replace(" >", ">").split())
    arguments = re.sub(r" ([&*]+)(?=\w)", r"\1 ", arguments)
    head = template(member) + words + (f"{result} " if result else "") + name
    if len(head.rpartition("\n")[2] + arguments) <= width:
        return f"{head}{arguments};"
    parameters = [squeeze_parameter(parameter) for parameter in member.findall("param")]
    tail = arguments[arguments.rindex(")"):]
    return f"{head}(\n    " + ",\n    ".join(parameters) + f"{tail};"


def squeeze_parameter(parameter):
    kind, name = squeeze(parameter.find("type")), parameter.findtext("declname") or ""
    default = squeeze(parameter.find("defval"))
    array = parameter.findtext("array") or ""
    return f"{kind} {name}".strip() + array + (f" = {default}" if default else "")


def code(text):
    return highlight(text, CppLexer(), HtmlFormatter(cssclass="highlight", wrapcode=True)).replace("\n\n", "\n")


def table(rows):
    body = "".join(f"<tr><td>{left}</td><td>{right}</td></tr>" for left, right in rows)
    return f'<table class="fields"><tbody>{body}</tbody></table>'
