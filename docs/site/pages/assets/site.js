// The frames of explorers follow the site's light or dark mode, and source pages mark the lines that a link leads to.
const dark = () => document.body.dataset.mdColorScheme === "slate";
const follow = () => {
  document.documentElement.style.colorScheme = dark() ? "dark" : "light";
  for (const frame of document.querySelectorAll("iframe.explorer")) frame.style.colorScheme = dark() ? "dark" : "light";
};
new MutationObserver(follow).observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
follow();
