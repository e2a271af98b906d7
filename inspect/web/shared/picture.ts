// An SVG figure with a title, a readout of the value under the pointer, and buttons to save it.
import { rgb } from "d3-color";
import { select } from "d3-selection";
import { cutAtWord, element } from "./dom";
import { onThemeChange, palette, type SvgGroup } from "./colors";
import { exact } from "./numbers";

export interface PictureOptions {
  id: string;
  label: string; // accessible name, including the keys it handles
  draw(area: SvgGroup, width: number): number; // returns its height
  key?(event: KeyboardEvent): boolean; // whether the key was handled
  naturalSize?: boolean; // drawn at its own width in a scrolling box
  minWidth?: number; // below this width the whole picture is scaled down
  compact?: boolean; // one of several: its buttons appear on hover
}

// A line of a picture and its label.
export interface LegendKey {
  words: string;
  line: SVGPathElement;
}

const printedWidth = 690;
const titleHeight = 26;

// Pictures by element. Those in the page are redrawn when the theme changes and for printing.
const known = new WeakMap<Element, Picture>();
function all(): Picture[] {
  return [...document.querySelectorAll(".picture")].flatMap((node) => known.get(node) ?? []);
}
onThemeChange(() => all().forEach((picture) => picture.redraw()));
window.addEventListener("beforeprint", () => all().forEach((picture) => picture.setPrinting(true)));
window.addEventListener("afterprint", () => all().forEach((picture) => picture.setPrinting(false)));

export class Picture {
  readonly node: HTMLElement;
  readonly plot: HTMLElement;
  readonly svg: SVGSVGElement;
  private readonly title = element("h2");
  private readonly readout = element("output", { class: "readout", "aria-live": "polite" });
  private whole = ""; // title
  private width = 0;
  private hint = "";

  constructor(private readonly options: PictureOptions) {
    this.svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.plot = element(
      "div",
      { class: "plot", tabindex: 0, role: "application", "aria-label": options.label },
      this.svg,
    );
    this.node = element(
      "figure",
      { class: `picture${options.compact ? " compact" : ""}${options.naturalSize ? " natural" : ""}`, id: options.id },
      element(
        "figcaption",
        {},
        this.title,
        this.readout,
        saveButtons(this.svg, () => this.whole),
      ),
      this.plot,
    );
    if (options.key)
      this.plot.addEventListener("keydown", (event) => {
        if (!event.ctrlKey && !event.metaKey && !event.altKey && options.key!(event)) event.preventDefault();
      });
    known.set(this.node, this);
    if (options.naturalSize) return;
    new ResizeObserver(() => {
      const width = Math.round(this.plot.clientWidth);
      if (width > 0 && width !== this.width && !window.matchMedia("print").matches) this.setSize(width);
    }).observe(this.plot);
  }

  setPrinting(now: boolean) {
    if (!this.options.naturalSize)
      this.setSize(now ? Math.min(printedWidth, this.width) : Math.round(this.plot.clientWidth));
  }

  // A long title is cut; details, and the whole title if it is cut, are in its tooltip.
  setTitle(title: string, details = "") {
    this.whole = title;
    this.title.textContent = cutAtWord(title, 90);
    this.title.title = [this.title.textContent === title ? "" : title, details].filter(Boolean).join("\n");
  }

  redraw() {
    if (!this.node.isConnected) return;
    if (!this.options.naturalSize && this.width === 0) this.width = Math.round(this.plot.clientWidth);
    if (!this.options.naturalSize && this.width === 0) return;
    this.svg.replaceChildren();
    const group = select(this.svg).append("g");
    const width = Math.max(this.width, this.options.minWidth ?? 0);
    const height = this.options.draw(group, width);
    if (!this.options.naturalSize) this.size(width, height);
    this.showReadout(null);
  }

  size(width: number, height: number) {
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("width", String(width));
    this.svg.setAttribute("height", String(height));
  }

  // Shows the element under the pointer with its exact value; null restores the hint.
  showReadout(words: string | null, value?: number) {
    delete this.readout.dataset.value;
    this.readout.classList.toggle("hint", words === null);
    if (words === null) return void (this.readout.textContent = this.hint);
    this.readout.textContent = value === undefined ? words : `${words}  ${exact(value)}`;
    if (value !== undefined) this.readout.dataset.value = String(value);
  }

  setHint(hint: string) {
    this.hint = hint;
    this.showReadout(null);
  }

  private setSize(width: number) {
    if (width === 0) return;
    this.width = width;
    this.redraw();
  }
}

// keys: legend entries for the saved picture, if the page shows its legend outside of the SVG.
export function saveButtons(svg: SVGSVGElement, title: () => string, keys: () => LegendKey[] = () => []): HTMLElement {
  const button = (format: "SVG" | "PNG") => {
    const made = element("button", { type: "button", "aria-label": `Save this picture as ${format}` }, format);
    made.addEventListener("click", () => void save(svg, title(), format, keys()));
    return made;
  };
  return element(
    "span",
    { class: "save screen" },
    element("span", { class: "muted" }, "Save"),
    button("SVG"),
    button("PNG"),
  );
}

const styled = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "opacity",
  "visibility",
  "font-family",
  "font-size",
  "font-weight",
  "font-style",
  "text-anchor",
  "dominant-baseline",
  "shape-rendering",
  "paint-order",
];

// A self-contained copy of the SVG: computed styles are inlined, elements for interaction only are removed.
export function standalone(
  svg: SVGSVGElement,
  title: string,
  keys: LegendKey[] = [],
): { text: string; width: number; height: number } {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const [from, to] = [svg.querySelectorAll("*"), copy.querySelectorAll("*")];
  from.forEach((original, index) => {
    const style = getComputedStyle(original);
    const target = to[index]!;
    for (const name of styled) {
      const value = style.getPropertyValue(name);
      if (value !== "") target.setAttribute(name, value);
    }
    for (const name of ["class", "style", "tabindex", "role"]) target.removeAttribute(name);
  });
  from.forEach((original, index) => {
    if (original.classList.contains("screen")) to[index]!.remove();
  });
  const [x, y, width, height] = (svg.getAttribute("viewBox") ?? "0 0 100 100").split(" ").map(Number);
  const legend = legendOf(keys, x!, width!);
  const above = 12 + titleHeight + legend.height;
  const [left, top, wide, high] = [x! - 12, y! - above, width! + 24, height! + 12 + above];
  legend.node.setAttribute("transform", `translate(0,${y! - legend.height})`);
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const place = { x: left, y: top, width: wide, height: high, fill: palette().paper };
  for (const [name, value] of Object.entries(place)) paper.setAttribute(name, String(value));
  copy.prepend(paper, titleOf(title, left + 12, top + 19, wide - 24), legend.node);
  for (const name of ["style", "class"]) copy.removeAttribute(name);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("viewBox", `${left} ${top} ${wide} ${high}`);
  copy.setAttribute("width", String(wide));
  copy.setAttribute("height", String(high));
  return { text: new XMLSerializer().serializeToString(copy), width: wide, height: high };
}

// Title of a saved picture, in a font small enough for its width.
function titleOf(words: string, x: number, y: number, width: number): SVGTextElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "text");
  const size = Math.max(7, Math.min(14, (width / Math.max(1, Array.from(words).length)) * 1.85));
  const look = { x, y, fill: rgb(palette().ink).formatRgb(), "font-size": `${size}px`, "font-weight": "600" };
  for (const [name, value] of Object.entries(look)) made.setAttribute(name, String(value));
  made.setAttribute("font-family", "system-ui, sans-serif");
  made.textContent = words;
  return made;
}

// A line sample and label for each key, wrapped into rows.
function legendOf(keys: LegendKey[], left: number, width: number): { node: SVGGElement; height: number } {
  const node = document.createElementNS("http://www.w3.org/2000/svg", "g");
  let [x, y] = [left, 12];
  for (const { words, line } of keys) {
    const long = 44 + 7.2 * Array.from(words).length;
    if (x > left && x + long > left + width) [x, y] = [left, y + 17];
    const style = getComputedStyle(line);
    const piece = document.createElementNS("http://www.w3.org/2000/svg", "path");
    piece.setAttribute("d", `M${x} ${y - 4}h20`);
    for (const name of ["stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity"])
      piece.setAttribute(name, style.getPropertyValue(name));
    const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
    const look = {
      x: x + 26,
      y,
      fill: rgb(palette().ink).formatRgb(),
      "font-size": "12px",
      "font-family": "system-ui, sans-serif",
    };
    for (const [name, value] of Object.entries(look)) text.setAttribute(name, String(value));
    text.textContent = words;
    node.append(piece, text);
    x += long;
  }
  return { node, height: keys.length > 0 ? y + 8 : 0 };
}

async function save(svg: SVGSVGElement, title: string, format: "SVG" | "PNG", keys: LegendKey[]) {
  const { text, width, height } = standalone(svg, title, keys);
  const name =
    title
      .replace(/[^\p{L}\p{N}]+/gu, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, 80) || "picture";
  if (format === "SVG") {
    download(new Blob([text], { type: "image/svg+xml" }), `${name}.svg`);
    return;
  }
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const scale = Math.min(2, 8192 / Math.max(width, height));
  const canvas = element("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => blob && download(blob, `${name}.png`), "image/png");
}

function download(blob: Blob, name: string) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
