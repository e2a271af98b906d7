import { choice, element, embedded, visible } from "../shared/dom";
import { whole } from "../shared/format";
import { App, viewNames, type ViewName } from "./app";
import { lookChanged, onLook } from "./colours";
import type { Data } from "./data";
import { GradcheckView } from "./gradcheck";
import { aboutView, glossaryButton } from "./guide";
import { HeadView } from "./head";
import { LayerNormView } from "./layernorm";
import { ModelView } from "./model";
import { NeuronView } from "./neuron";
import { NudgeView } from "./nudge";
import { brief } from "./numbers";
import { searchBox } from "./search";
import { SoftmaxView } from "./softmax";
import { TapeView } from "./tape";
import { Tour } from "./tour";

interface View {
  node: HTMLElement;
  update(): void;
  left?(): void;
}

const app = new App(embedded<Data>());
const makers: Record<ViewName, () => View> = {
  head: () => new HeadView(app),
  model: () => new ModelView(app),
  neuron: () => new NeuronView(app),
  tape: () => new TapeView(app),
  softmax: () => new SoftmaxView(app),
  layernorm: () => new LayerNormView(app),
  nudge: () => new NudgeView(app),
  gradcheck: () => new GradcheckView(app),
};
const views = new Map<ViewName, View>();
const tour = new Tour(app);
const about = element("p", { class: "about" });
const stage = element("main", { id: "view", tabindex: -1 });
const links = element("nav", { class: "views", "aria-label": "Views" });

function header(): HTMLElement {
  const { title, made_by, model, outputs } = app.data;
  const look = choice<"auto" | "light" | "dark">(
    "Look",
    [
      ["auto", "Auto"],
      ["light", "Light"],
      ["dark", "Dark"],
    ],
    "auto",
    (theme) => {
      if (theme === "auto") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = theme;
      lookChanged();
    },
  );
  look.classList.add("screen");
  const first = outputs[0]!;
  const words = [
    visible(model.class),
    model.parameters > 0 && `${whole(model.parameters)} parameters`,
    `${visible(first.name)} ${brief(first.value ?? NaN)}`,
    visible(made_by),
  ]
    .filter(Boolean)
    .join(" · ");
  const tree =
    model.tree !== "" &&
    element("details", { class: "tree" }, element("summary", {}, words), element("pre", {}, visible(model.tree)));
  return element(
    "header",
    {},
    element("div", {}, element("h1", {}, visible(title)), tree || element("p", { class: "muted" }, words)),
    element("div", { class: "tools screen" }, searchBox(app), tour.button(), glossaryButton(), look),
  );
}

function linkViews() {
  const { data, state } = app;
  const has: Partial<Record<ViewName, boolean>> = {
    head: data.attention.length > 0,
    model: data.attention.length > 0,
    neuron: data.attention.length > 0,
    softmax: data.attention.length > 0,
    layernorm: data.layer_norms.length > 0,
    nudge: Boolean(data.nudges),
    gradcheck: data.gradcheck !== null,
  };
  const known = [...links.querySelectorAll("a")];
  for (const name of Object.keys(viewNames) as ViewName[]) {
    if (has[name] === false) continue;
    let link = known.find(({ dataset }) => dataset.view === name);
    if (!link) {
      link = links.appendChild(element("a", { "data-view": name }, viewNames[name]));
      if (name === "gradcheck" && !data.gradcheck!.passed) link.append(element("span", { class: "bad" }, " ✗"));
    }
    link.setAttribute("href", app.address({ ...state, view: name }));
    if (name === state.view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

let shown: ViewName | null = null;

function show() {
  const { view } = app.state;
  linkViews();
  let made = views.get(view);
  if (!made) views.set(view, (made = makers[view]()));
  if (shown !== view) {
    about.replaceChildren(...aboutView(view));
    if (shown) views.get(shown)?.left?.();
    stage.replaceChildren(made.node);
    shown = view;
  }
  made.update();
  tour.update();
}

document.title = `${visible(app.data.title)} · Tapeformer`;
document.getElementById("page")!.replaceChildren(header(), links, about, stage, tour.node);
app.onChange(show);
onLook(show);
show();
document.documentElement.dataset.ready = "true";
