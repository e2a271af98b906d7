import { cutAtWord, radioGroup, setChoice, element, pageData, visible } from "../shared/dom";
import { integer } from "../shared/format";
import { ActivationView } from "./views/activation";
import { App } from "./app";
import { themeChanged, onThemeChange } from "../shared/colors";
import type { Data } from "./data";
import { GradcheckView } from "./views/gradcheck";
import { aboutView, glossaryButton } from "./guide/about";
import { HeadView } from "./views/head";
import { LayerNormView } from "./views/layernorm";
import { ModelView } from "./views/model";
import { NeuronView } from "./views/neuron";
import { NudgeView } from "./views/nudge";
import { brief } from "../shared/numbers";
import { OutputView } from "./views/output";
import { OverviewView } from "./views/overview";
import { PatchingView } from "./views/patching";
import { RelativeView } from "./views/relative";
import { RotaryView } from "./views/rotary";
import { RunsView } from "./views/runs";
import { searchBox } from "./guide/search";
import { SoftmaxView } from "./views/softmax";
import { viewNames, type Look, type ViewName } from "./state";
import { TapeView } from "./tape/tape_view";
import { Tour } from "./guide/tour";

interface View {
  node: HTMLElement;
  update(): void;
  onLeave?(): void;
}

const app = new App(pageData() as Data);
const makers: Record<ViewName, () => View> = {
  overview: () => new OverviewView(app),
  head: () => new HeadView(app),
  model: () => new ModelView(app),
  neuron: () => new NeuronView(app),
  output: () => new OutputView(app),
  tape: () => new TapeView(app),
  softmax: () => new SoftmaxView(app),
  layernorm: () => new LayerNormView(app),
  activation: () => new ActivationView(app),
  rotary: () => new RotaryView(app),
  relative: () => new RelativeView(app),
  nudge: () => new NudgeView(app),
  runs: () => new RunsView(app),
  patching: () => new PatchingView(app),
  gradcheck: () => new GradcheckView(app),
};
const views = new Map<ViewName, View>();
const tour = new Tour(app);
const about = element("p", { class: "about" });
const stage = element("main", { id: "view", tabindex: -1 });
const links = element("nav", { class: "views", "aria-label": "Views" });

const look = radioGroup<Look>(
  "Theme",
  [
    ["auto", "Auto"],
    ["light", "Light"],
    ["dark", "Dark"],
  ],
  app.state.look,
  (chosen) => app.set({ look: chosen }, { replace: true }),
);

// Applies the theme in the page's address.
function applyLook() {
  const { dataset } = document.documentElement;
  const wanted = app.state.look;
  if ((dataset.theme ?? "auto") === wanted) return;
  if (wanted === "auto") delete dataset.theme;
  else dataset.theme = wanted;
  setChoice(look, wanted);
  themeChanged();
}

function header(): HTMLElement {
  const { title, made_by, model, outputs } = app.data;
  look.classList.add("screen");
  const whole = visible(title);
  const short = cutAtWord(whole, 100);
  const first = outputs[0]!;
  const words = [
    visible(model.class),
    model.parameters > 0 && `${integer(model.parameters)} parameters`,
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
    element(
      "div",
      {},
      element("h1", short === whole ? {} : { title: whole }, short),
      tree || element("p", { class: "muted" }, words),
    ),
    element("div", { class: "tools screen" }, searchBox(app), tour.button(), glossaryButton(), look),
  );
}

// Labels the view of norms by the kinds that there are.
function labelOf(name: ViewName): string {
  const { layer_norms, rms_norms } = app.data;
  if (name !== "layernorm" || rms_norms.length === 0) return viewNames[name];
  return layer_norms.length === 0 ? "RMSNorm" : "Norms";
}

function linkViews() {
  const { data, state } = app;
  const known = [...links.querySelectorAll("a")];
  for (const name of Object.keys(viewNames) as ViewName[]) {
    if (!app.hasView(name)) continue;
    let link = known.find(({ dataset }) => dataset.view === name);
    if (!link) {
      link = links.appendChild(element("a", { "data-view": name }, labelOf(name)));
      if (name === "gradcheck" && !data.gradcheck!.passed) link.append(element("span", { class: "bad" }, " ✗"));
    }
    link.setAttribute("href", app.address(app.entering(name)));
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
    if (shown) views.get(shown)?.onLeave?.();
    stage.replaceChildren(made.node);
    shown = view;
  }
  tour.update(); // first, because it takes room from the view
  made.update();
}

document.title = `${visible(app.data.title)} · Tapeformer`;
document.getElementById("page")!.replaceChildren(header(), links, about, stage, tour.node);
app.onChange(applyLook);
app.onChange(show);
applyLook();
onThemeChange(show);
show();
document.documentElement.dataset.ready = "true";
