"""Checks the built site: links.py SITE. Every link, anchor and picture leads to something in the site, nothing is loaded from
elsewhere, and no Markdown, comment or formula was left as it was written. The last line is "N passed, N failed"."""
import html.parser
import pathlib
import posixpath
import re
import sys
import urllib.parse

LOADED = {("img", "src"), ("script", "src"), ("iframe", "src"), ("link", "href"), ("source", "srcset"), ("video", "src")}
URL_IN_CSS = re.compile(r"""(?:url\(\s*|@import\s+)["']?([^"')\s]+)""")
LEFT_OVER = re.compile(r"\]\([\w./#-]+\)|\$\$|\\frac\b|\\\(|<!--|^```|numbers within", re.MULTILINE)
CODE = {"code", "pre", "script", "style", "annotation"}
# Self-contained pages that tests/web checks.
OTHERS = "try/"


class Page(html.parser.HTMLParser):
    def __init__(self, path, text):
        super().__init__(convert_charrefs=True)
        self.path, self.ids, self.links, self.loaded, self.words, self.comments = path, set(), [], [], [], []
        self.depth = 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids.update(values[name] for name in ("id", "name") if values.get(name))
        if tag in CODE:
            self.depth += 1
        for name in ("href", "src", "srcset"):
            if values.get(name) is None or (tag == "link" and values.get("rel") in ("prev", "next", "canonical")):
                continue
            (self.loaded if (tag, name) in LOADED else self.links).append(values[name])

    def handle_endtag(self, tag):
        self.depth -= tag in CODE

    def handle_data(self, data):
        if self.depth == 0:
            self.words.append(data)

    def handle_comment(self, data):
        self.comments.append(data)


def is_external(url):
    return re.match(r"(?:[a-z]+:)?//|mailto:", url) is not None


class Site:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = {path.relative_to(root).as_posix() for path in self.root.rglob("*") if path.is_file()}
        self.pages = {path: Page(path, (self.root / path).read_text()) for path in sorted(self.files)
                      if path.endswith(".html") and not path.startswith(OTHERS)}

    def problem_of(self, page, url):
        """Why a link within the site leads nowhere, or None."""
        target, _, anchor = url.partition("#")
        target = urllib.parse.unquote(target.partition("?")[0])
        # 404.html is shown at any address, so its links start at the root.
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page.path), target)) if target else page.path
        path = target.lstrip("/") if page.path == "404.html" and target else path
        path = "index.html" if path in (".", "") else path
        if path not in self.files:
            return "is not in the site"
        if anchor and path in self.pages and not anchor.startswith("__") and urllib.parse.unquote(anchor) not in self.pages[path].ids:
            return "has no such anchor"
        return None

    def broken(self, urls_of):
        for page in self.pages.values():
            for url in urls_of(page):
                if not is_external(url) and not url.startswith("data:") and (problem := self.problem_of(page, url)):
                    yield f"{page.path}: {url} {problem}"

    def external(self):
        for page in self.pages.values():
            yield from (f"{page.path}: loads {url}" for url in page.loaded if is_external(url))
        for path in sorted(self.files):
            if path.endswith(".css"):
                for url in URL_IN_CSS.findall((self.root / path).read_text()):
                    inside = posixpath.normpath(posixpath.join(posixpath.dirname(path), url.partition("?")[0].partition("#")[0]))
                    # KaTeX also names its fonts in two older formats, which no browser loads that can read woff2.
                    if is_external(url) or not (url.startswith("data:") or inside in self.files or re.search(r"\.(woff|ttf)$", url)):
                        yield f"{path}: loads {url}"

    def left_over(self):
        for page in self.pages.values():
            if not page.path.startswith("source/"):
                yield from (f"{page.path}: {found[0]!r} is not rendered" for found in LEFT_OVER.finditer("".join(page.words)))
                yield from (f"{page.path}: comment {text!r}" for text in page.comments)

    def unreachable(self):
        """Pages that no other page of the site links to."""
        reached = set()
        for page in self.pages.values():
            for url in page.links:
                if not is_external(url):
                    target = posixpath.normpath(posixpath.join(posixpath.dirname(page.path), urllib.parse.unquote(url.partition("#")[0])))
                    if target != page.path:
                        reached.add(target)
        return (f"{path}: no page links to it" for path in self.pages if path not in reached | {"404.html", "index.html"})


def main():
    site = Site(sys.argv[1])
    links = sum(len(page.links) for page in site.pages.values())
    pictures = sum(len(page.loaded) for page in site.pages.values())
    failed = 0
    for name, problems in ((f"{links} links of {len(site.pages)} pages", site.broken(lambda page: page.links)),
                           (f"{pictures} pictures, scripts and styles", site.broken(lambda page: page.loaded)),
                           ("nothing is loaded from elsewhere", site.external()),
                           ("no Markdown is left in the pages", site.left_over()),
                           ("every page is linked to", site.unreachable())):
        problems = sorted(set(problems))
        failed += bool(problems)
        print(f"{'FAILED' if problems else 'ok    '}  {name}")
        print("\n".join(f"  {problem}" for problem in problems[:40]), end="\n" if problems else "")
    print(f"{5 - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
