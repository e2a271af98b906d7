// Links from an operation on the tape to other operations and to views that show it.
import { element, visible } from "../../shared/dom";
import type { App } from "../app";
import type { Source, TapeNode } from "../data";
import type { State, Subject } from "../state";
import { tensor } from "../tensor";

export function tapeLink(app: App, text: string, subject: Subject): HTMLElement {
  const state = { ...app.state, view: "tape" as const, subject };
  return element("a", { href: app.address(state) }, visible(text));
}

// A link to the source of an input.
export function sourceLink(app: App, source: Source): HTMLElement | string {
  if (!source) return element("span", { class: "muted" }, "a constant");
  const { tape } = app.data;
  if ("leaf" in source) {
    const { name, kind } = tape.leaves[source.leaf]!;
    const link = tapeLink(app, kind === "parameter" ? app.nameOf(name) : name, { leaf: source.leaf });
    link.title = name;
    return link;
  }
  const from = tape.nodes.find(({ id }) => id === source.node);
  const name = from
    ? `${from.operation} #${from.id}${from.outputs.length > 1 ? `, output ${source.output}` : ""}`
    : `#${source.node}`;
  return from ? tapeLink(app, name, { node: source.node }) : name;
}

// Links to the views that show an operation or its module.
export function viewLinks(app: App, node: TapeNode): HTMLElement[] {
  const { state, data } = app;
  const links: HTMLElement[] = [];
  const add = (words: string, change: Partial<State>) =>
    links.push(element("a", { href: app.address({ ...state, row: null, ...change }) }, words));
  const of = (list: { module: string }[]) => list.some(({ module }) => module === node.module);
  if (of(data.attention)) {
    add("its heads", { view: "head", block: node.module });
    add("its softmax in numbers", { view: "softmax", block: node.module });
  }
  if (data.attention.some(({ module, relative }) => relative && module === node.module))
    add("its relative positions in numbers", { view: "relative", block: node.module });
  if (of(data.layer_norms)) add("this LayerNorm in numbers", { view: "layernorm", norm: node.module });
  if (of(data.rms_norms)) add("this RMSNorm in numbers", { view: "layernorm", norm: node.module });
  if (of(data.activations)) add("this activation in numbers", { view: "activation", layer: node.module });
  if (of(data.rotaries)) add("this rotary embedding in numbers", { view: "rotary", layer: node.module });
  const nudge = nudgeState(app, node);
  if (nudge) add("nudge it", nudge);
  return links.length > 0 ? [element("p", { class: "where" }, ...links)] : [];
}

// State of the Nudge view for an operation's output: the nudged element with the largest gradient, null if there is none.
function nudgeState(app: App, node: TapeNode): Partial<State> | null {
  const { nudges } = app.data;
  if (!nudges) return null;
  const gradients = tensor(nudges.gradients);
  const size = (index: number) => Math.abs(gradients.row(index)[app.state.output]!);
  const places = nudges.places.flatMap((place, index) => (place.node === node.id ? [index] : []));
  if (places.length === 0) return null;
  const place = places.reduce((a, b) => (size(b) > size(a) ? b : a));
  const { kind, index } = nudges.places[place]!;
  const block = kind === "activation" ? {} : { block: node.module, heads: [index[1]!] };
  return { view: "nudge", pull: kind, place, stop: null, ...block };
}
