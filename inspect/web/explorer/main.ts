// Opens the page: shows its data, and starts the engine if the page contains one.
import { element, pageData } from "../shared/dom";
import { onThemeChange } from "../shared/colors";
import type { Data } from "./data";
import { startLive } from "./live/start";
import { Mounted } from "./mount";
import source from "live:worker";

const data = pageData() as Data;
const host = element("div", { class: "mounted" });
const page = document.getElementById("page")!;
page.replaceChildren(host);
let mounted: Mounted | null = null;

const live = data.live
  ? startLive(data, data.live, source, {
      mount: (next) => mount(next),
      mounted: () => mounted!,
    })
  : null;

// Shows data in place of those that are shown, at the reader's place.
function mount(next: Data) {
  mounted = new Mounted(next, host, live?.extensions, mounted ?? undefined);
}

mount(data);
if (live) page.prepend(live.open());
onThemeChange(() => mounted?.update());
document.documentElement.dataset.ready = "true";
