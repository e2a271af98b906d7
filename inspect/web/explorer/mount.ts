// Shows data as the explorer's views, and replaces them by other data without losing the reader's place.
import { cutAtWord, radioGroup, setChoice, element, visible } from "../shared/dom";
import { integer } from "../shared/format";
import { ActivationView } from "./views/activation";
import { App } from "./app";
import { themeChanged } from "../shared/colors";
import type { Data } from "./data";
import { GradcheckView } from "./views/gradcheck";
import { aboutView, glossaryButton } from "./guide/about";
import { HeadView } from "./views/head";
import { LayerNormView } from "./views/layernorm";
import type { LiveHooks } from "./live/hooks";
import { ModelView } from "./views/model";
import { NeuronView } from "./views/neuron";
import { NudgeView } from "./views/nudge";
import { brief } from "../shared/numbers";
import { OutputView } from "./views/output";
import { OverviewView } from "./views/overview";
import { PatchingView } from "./views/patching";
import { carried } from "./place";
import { RelativeView } from "./views/relative";
import { RotaryView } from "./views/rotary";
import { RunsView } from "./views/runs";
import { focusedPlace, scrolledParts } from "./scrolled";
import { searchBox } from "./guide/search";
import { SoftmaxView } from "./views/softmax";
import { viewNames, type Look, type ViewName } from "./state";
import { TapeView } from "./tape/tape_view";
import { Tour } from "./guide/tour";

export interface View {
  node: HTMLElement;
  update(): void;
  onLeave?(): void;
}

// What a page that computes adds: the hooks of the views, more views, and a panel below a view.
export interface Extensions {
  hooks: LiveHooks;
  views: Partial<Record<ViewName, (app: App) => View>>;
  panel(app: App): HTMLElement | null;
}

const makers: Partial<Record<ViewName, (app: App) => View>> = {
  overview: (app) => new OverviewView(app),
  head: (app) => new HeadView(app),
  model: (app) => new ModelView(app),
  neuron: (app) => new NeuronView(app),
  output: (app) => new OutputView(app),
  tape: (app) => new TapeView(app),
  softmax: (app) => new SoftmaxView(app),
  layernorm: (app) => new LayerNormView(app),
  activation: (app) => new ActivationView(app),
  rotary: (app) => new RotaryView(app),
  relative: (app) => new RelativeView(app),
  nudge: (app) => new NudgeView(app),
  runs: (app) => new RunsView(app),
  patching: (app) => new PatchingView(app),
  gradcheck: (app) => new GradcheckView(app),
};

// The views of one set of data.
export class Mounted {
  readonly app: App;
  private readonly views = new Map<ViewName, View>();
  private readonly tour: Tour;
  private readonly about = element("p", { class: "about" });
  private readonly stage = element("main", { id: "view", tabindex: -1 });
  private readonly panel = element("div", { class: "live-panel screen" });
  private readonly links = element("nav", { class: "views", "aria-label": "Views" });
  private readonly look: HTMLElement;
  private readonly tapeZoom: TapeView["zoom"]["chosen"] = null;
  private shown: ViewName | null = null;

  // before: the views that these replace.
  constructor(
    data: Data,
    host: HTMLElement,
    private readonly extensions?: Extensions,
    before?: Mounted,
  ) {
    this.app = new App(data, extensions?.hooks);
    const { app } = this;
    if (before) {
      const tape = before.views.get("tape");
      this.tapeZoom = tape instanceof TapeView ? tape.zoom.chosen : before.tapeZoom;
      app.restore(before.app.state);
      app.restore(carried(before.app, app));
    }
    const restoreScroll = scrolledParts(host);
    const restoreFocus = focusedPlace(host);
    before?.unmount();
    this.tour = new Tour(app, before?.tour);
    if (before) this.tour.follow();
    this.look = radioGroup<Look>(
      "Theme",
      [
        ["auto", "Auto"],
        ["light", "Light"],
        ["dark", "Dark"],
      ],
      app.state.look,
      (chosen) => app.set({ look: chosen }, { replace: true }),
    );
    document.title = `${visible(data.title)} · Tapeformer`;
    host.replaceChildren(this.header(), this.links, this.about, this.stage, this.panel, this.tour.node);
    app.onChange(() => this.update());
    this.update();
    if (!before) return;
    restoreScroll();
    restoreFocus();
  }

  update() {
    this.applyLook();
    this.show();
  }

  private unmount() {
    if (this.shown) this.views.get(this.shown)?.onLeave?.();
    this.app.unmount();
  }

  // Applies the theme in the page's address.
  private applyLook() {
    const { dataset } = document.documentElement;
    const wanted = this.app.state.look;
    if ((dataset.theme ?? "auto") === wanted) return;
    if (wanted === "auto") delete dataset.theme;
    else dataset.theme = wanted;
    setChoice(this.look, wanted);
    themeChanged();
  }

  private header(): HTMLElement {
    const { title, made_by, model, outputs } = this.app.data;
    this.look.classList.add("screen");
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
      element("div", { class: "tools screen" }, searchBox(this.app), this.tour.button, glossaryButton(), this.look),
    );
  }

  // Labels the view of norms by the kinds that there are.
  private labelOf(name: ViewName): string {
    const { layer_norms, rms_norms } = this.app.data;
    if (name !== "layernorm" || rms_norms.length === 0) return viewNames[name];
    return layer_norms.length === 0 ? "RMSNorm" : "Norms";
  }

  private linkViews() {
    const { app, links } = this;
    const known = [...links.querySelectorAll("a")];
    for (const name of Object.keys(viewNames) as ViewName[]) {
      if (!app.hasView(name)) continue;
      let link = known.find(({ dataset }) => dataset.view === name);
      if (!link) {
        link = links.appendChild(element("a", { "data-view": name }, this.labelOf(name)));
        if (name === "gradcheck" && !app.data.gradcheck!.passed) link.append(element("span", { class: "bad" }, " ✗"));
      }
      link.setAttribute("href", app.address(app.entering(name)));
      if (name === app.state.view) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }

  private view(name: ViewName): View {
    let made = this.views.get(name);
    if (!made) {
      made = (this.extensions?.views[name] ?? makers[name]!)(this.app);
      if (made instanceof TapeView) made.zoom.chosen = this.tapeZoom;
      this.views.set(name, made);
    }
    return made;
  }

  private show() {
    const { view } = this.app.state;
    this.linkViews();
    const made = this.view(view);
    if (this.shown !== view) {
      this.about.replaceChildren(...aboutView(view));
      if (this.shown) this.views.get(this.shown)?.onLeave?.();
      this.stage.replaceChildren(made.node);
      this.shown = view;
    }
    this.tour.update(); // first, because it takes room from the view
    made.update();
    this.updatePanel();
  }

  // Draws the panel below the view again, after the engine or the edits changed.
  updatePanel() {
    const restoreFocus = focusedPlace(this.panel);
    const made = this.extensions?.panel(this.app);
    this.panel.replaceChildren(...(made ? [made] : []));
    restoreFocus();
  }
}
