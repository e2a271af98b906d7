// Converts the subset of TeX used in the derivations to MathML.
const space = "http://www.w3.org/1998/Math/MathML";

const symbols: Record<string, string> = {
  ...{ sum: "∑", partial: "∂", delta: "δ", Delta: "Δ", mu: "μ", varepsilon: "ε", epsilon: "ϵ", gamma: "γ", beta: "β" },
  ...{ odot: "⊙", infty: "∞", cdot: "·", Rightarrow: "⇒", top: "⊤", ell: "ℓ", log: "log", hat: "^", sigma: "σ" },
};
const spaces: Record<string, string> = { ",": "0.17em", quad: "1em", qquad: "2em" };
const sizes = /^[Bb]igg?[lr]?$/;

function node(name: string, ...children: (Element | string)[]): Element {
  const made = document.createElementNS(space, name);
  made.append(...children);
  return made;
}

class Reader {
  private at = 0;
  constructor(private readonly text: string) {}

  // Parses atoms with their scripts up to a closing brace or the end.
  row(): Element {
    const row = node("mrow");
    for (;;) {
      this.skip();
      if (this.at >= this.text.length || this.text[this.at] === "}") return row;
      row.append(this.scripted());
    }
  }

  private skip() {
    while (/\s/.test(this.text[this.at] ?? "")) ++this.at;
  }

  private scripted(): Element {
    const base = this.atom();
    const scripts: Record<string, Element> = {};
    for (;;) {
      this.skip();
      const mark = this.text[this.at] ?? "";
      if (mark !== "_" && mark !== "^") break;
      ++this.at;
      scripts[mark] = this.atom();
    }
    const { _: below, "^": above } = scripts;
    if (below && above) return node("msubsup", base, below, above);
    if (below) return node(base.textContent === "∑" ? "munder" : "msub", base, below);
    return above ? node("msup", base, above) : base;
  }

  private atom(): Element {
    this.skip();
    const letter = this.text[this.at++] ?? "";
    if (letter === "{") {
      const row = this.row();
      ++this.at;
      return row;
    }
    if (letter === "\\") return this.command();
    if (/[0-9.]/.test(letter)) {
      let number = letter;
      while (/[0-9.]/.test(this.text[this.at] ?? "") && /\d/.test(this.text.slice(this.at, this.at + 2)))
        number += this.text[this.at++] ?? "";
      return node("mn", number);
    }
    return node(/[a-zA-Z]/.test(letter) ? "mi" : "mo", letter === "-" ? "−" : letter);
  }

  private command(): Element {
    const name = /^([a-zA-Z]+|.)/.exec(this.text.slice(this.at))?.[0] ?? "";
    this.at += name.length;
    if (name === "frac") return node("mfrac", this.atom(), this.atom());
    if (name === "sqrt") return node("msqrt", this.atom());
    if (name === "text" || name === "mathrm" || name === "mathbf") return node("mtext", this.atom().textContent);
    if (sizes.test(name)) return this.atom();
    if (name in spaces) {
      const gap = node("mspace");
      gap.setAttribute("width", spaces[name]!);
      return gap;
    }
    const symbol = symbols[name];
    return node(symbol && /^[\p{L}]/u.test(symbol) ? "mi" : "mo", symbol ?? `\\${name}`);
  }
}

export function tex(text: string, block: boolean): Element {
  const math = node("math", new Reader(text).row());
  if (block) math.setAttribute("display", "block");
  return math;
}
