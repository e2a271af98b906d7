// Puts together what a page that computes has.
import type { Data, Live } from "../data";
import type { Extensions, Mounted } from "../mount";
import { linkedBy } from "./address";
import { Bar } from "./bar";
import { Client, startWorker } from "./client";
import { Edits } from "./edits";
import { livePanel } from "./panel";
import { Session } from "./session";
import { TrainView } from "./train_view";
import { Training } from "./training";

interface Page {
  mount(data: Data): void;
  mounted(): Mounted;
}

// source: the script of the worker. open() starts the engine and returns the bar; call it when the data are shown.
export function startLive(data: Data, live: Live, source: string, page: Page) {
  const client = new Client(live, () => startWorker(source));
  const session = new Session(data, live, client, (next) => page.mount(next), linkedBy(location.hash));
  const app = () => page.mounted().app;
  const edits = new Edits(session, app, live.tasks.train !== null);
  const training = new Training(session);
  const extensions: Extensions = {
    hooks: edits,
    views: { train: (shown) => new TrainView(shown, training, session) },
    panel: (shown) => livePanel(session, edits, shown),
  };
  const open = (): HTMLElement => {
    const bar = new Bar(session, app, () => void training.restore());
    session.listen(() => page.mounted().updatePanel());
    window.addEventListener("popstate", () => {
      const linked = linkedBy(location.hash);
      if (!linked) return;
      session.follow(linked);
      bar.fill();
    });
    void session.start();
    return bar.node;
  };
  return { extensions, open };
}
