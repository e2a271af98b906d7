"""Typesets formulas with KaTeX while the site is built, in one process of Node."""
import html
import json
import pathlib
import re
import subprocess

TOOLS = pathlib.Path(__file__).resolve().parents[3] / "build/site-tools"
RENDER = pathlib.Path(__file__).parent / "katex.mjs"
FORMULA = re.compile(r'<(span|div) class="arithmatex">\s*\\([(\[])(.*?)\\[)\]]\s*</\1>', re.DOTALL)


class Katex:
    def __init__(self):
        self.process = None

    def __call__(self, text, display):
        if self.process is None:
            self.process = subprocess.Popen(["node", RENDER, TOOLS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(json.dumps({"text": text, "display": display}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise ValueError(f"{text}: {answer['error']}")
        return answer["html"]

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process = None


def github_to_dollars(text):
    """GitHub also writes formulas as $`x`$."""
    return re.sub(r"\$`([^`\n]+)`\$", r"$\1$", text)


def typeset(page_html, katex):
    def render(match):
        display = match[2] == "["
        formula = katex(html.unescape(match[3]).strip(), display)
        return f'<div class="formula" tabindex="0">{formula}</div>' if display else formula

    return FORMULA.sub(render, page_html)
