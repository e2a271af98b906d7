"""Hooks of MkDocs: make a site of the repository's Markdown files, of the sources they link to, and of the references."""
import pathlib
import posixpath
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from mkdocs.structure.files import File, InclusionLevel  # noqa: E402

import cpp_reference  # noqa: E402
import formulas  # noqa: E402
import home  # noqa: E402
import plots  # noqa: E402
import python_reference  # noqa: E402
import repository  # noqa: E402
import source_pages  # noqa: E402

COMMENT = re.compile(r"^<!--.*?-->\n+", re.MULTILINE | re.DOTALL)
SMALL_GPT = formulas.TOOLS / "small_gpt/page.html"
katex = formulas.Katex()
cpp = None
python_modules = []
shown_sources = set()


def on_config(config):
    global cpp, python_modules
    cpp = cpp_reference.Reference(repository.ROOT / "build/reference/xml")
    python_modules = python_reference.stage()
    config.nav = navigation()
    return config


def guide_nav():
    """The pages in the sections and the order of the tables of docs/guide/README.md."""
    sections = ["docs/guide/README.md"]
    text = (repository.ROOT / "docs/guide/README.md").read_text()
    for title, body in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL):
        pages = re.findall(r"^\| \[[^]]*\]\((\w+\.md)\)", body, re.MULTILINE)
        sections.append({title: [f"docs/guide/{page}" for page in pages]})
    return sections


def navigation():
    derivations = [path for path, _ in repository.pages() if path.startswith("docs/derivations/")]
    benchmarks = [path for path, _ in repository.pages() if path.startswith("benchmarks/")]
    readme_first = lambda path: (not path.endswith("README.md"), path)  # noqa: E731
    python = [f"reference/python/{name}.md" for name in ("tapeformer", "tapeformer.Tensor", *python_modules[1:])]
    return [
        {"Home": "README.md"},
        {"Guide": guide_nav()},
        {"Derivations": sorted(derivations, key=readme_first)},
        {"C++": ["reference/cpp/index.md", *cpp.nav()]},
        {"Python": python},
        {"Benchmarks": sorted(benchmarks, key=readme_first)},
        {"Explorer": ["explorer.md", "small_gpt.md"]},
        {"Project": ["examples/README.md", "CHANGELOG.md", "docs/equality.md", "CONTRIBUTING.md", "SECURITY.md"]},
    ]


def on_files(files, config):
    texts = {}
    for path, target in repository.pages():
        texts[path] = (repository.ROOT / path).read_text()
        files.append(at(File.generated(config, path, content=texts[path]), target))
    for path, target in repository.pictures():
        files.append(at(File.generated(config, path, abs_src_path=str(repository.ROOT / path)), target))
    if SMALL_GPT.is_file():
        files.append(File.generated(config, "try/small_gpt.html", abs_src_path=str(SMALL_GPT)))
    generated = {page.path: page.markdown for page in cpp.pages.values()} | {"reference/cpp/index.md": cpp.index()}
    for name in (*python_modules, "tapeformer.Tensor"):
        generated[f"reference/python/{name}.md"] = python_reference.page(name)
    for path, text in generated.items():
        files.append(File.generated(config, path, content=text))
    shown_sources.update(repository.sources(texts), cpp.headers())
    for path in sorted(shown_sources):
        page = File.generated(config, repository.source_page(path), content=source_pages.markdown(path),
                              inclusion=InclusionLevel.NOT_IN_NAV)
        files.append(page)
    for path in sorted((formulas.TOOLS / "node_modules/katex/dist").glob("fonts/*.woff2")):
        files.append(File.generated(config, f"assets/katex/fonts/{path.name}", abs_src_path=str(path)))
    for name, path in (("assets/katex/katex.min.css", "katex/dist/katex.min.css"),
                       ("assets/iframe-worker.js", "iframe-worker/shim/index.js")):
        files.append(File.generated(config, name, abs_src_path=str(formulas.TOOLS / "node_modules" / path)))
    return files


def at(file, target):
    file.dest_uri = target
    return file


def on_page_markdown(markdown, page, **_):
    path = page.file.src_uri
    if path.startswith(("source/", "reference/")):
        return markdown
    if path == "README.md":
        markdown = home.home(markdown)
        page.meta.update(title="Tapeformer", hide=["navigation", "toc"])
    if path == "small_gpt.md":
        markdown = small_gpt(markdown)
    if path.startswith("benchmarks/"):
        markdown = plots.add_plots(markdown)
    return repository.outside_fences(repository.deeper_lists(markdown), lambda text: for_site(path, text))


def for_site(path, text):
    return changed_links(path, formulas.github_to_dollars(COMMENT.sub("", text)))


def small_gpt(markdown):
    """The page with the commands of small_gpt.sh and, if they have been run, with what they wrote."""
    script = (pathlib.Path(__file__).parents[1] / "small_gpt.sh").read_text()
    commands = script.partition("# shown\n")[2].replace('"$tapeformer"', "tapeformer")
    frame = ("[Open it in a tab of its own](try/small_gpt.html).\n\n"
             '<iframe class="explorer" src="try/small_gpt.html" title="The explorer of a small GPT"></iframe>')
    if not SMALL_GPT.is_file():
        frame = "This copy of the site was built without the command `tapeformer`, so the page itself is missing here."
    return markdown.replace("<!-- page -->", frame).replace("<!-- commands -->", f"```sh\n{commands}```")


def changed_links(page, text):
    def change(match):
        path = repository.linked(page, match[2])
        if not repository.is_source(path):
            return match[0]
        target = cpp.by_name.get((path, match[1].strip("`"))) or repository.source_page(path)
        return f"[{match[1]}]({posixpath.relpath(target, posixpath.dirname(page) or '.')})"

    return re.sub(r"(?<!!)\[([^][]*)\]\(([^()\s]+)\)", change, text)


def on_page_content(html, page, **_):
    path = page.file.src_uri
    if path.startswith("source/"):
        path = path.removeprefix("source/").removesuffix(".md").removesuffix("/index")
        return html + source_pages.content(path, shown_sources)
    # Griffe's only name for keyword arguments; "Options" in the docstrings.
    html = html.replace("Other Parameters:", "Options:")
    html = re.sub(r"<table>.*?</table>", r'<div class="wide">\g<0></div>', html, flags=re.DOTALL)
    return formulas.typeset(html, katex)


def on_post_build(**_):
    katex.close()
