// Where the pointer goes on a page.

// Scrolls to an element and returns its box. Pictures are redrawn by an observer after their size changes, as soon as the
// next frame is shown, and then consist of other elements: so this waits for frames, and looks again for an element that
// was replaced.
export async function boxOf(locator) {
  for (;;) {
    await locator.scrollIntoViewIfNeeded();
    await locator
      .page()
      .evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const box = await locator.boundingBox();
    if (box !== null) return box;
  }
}

// Moves the pointer to a cell of a heatmap, whose picture then shows its value. A picture that is redrawn meanwhile shows
// none, so the pointer moves again.
export async function point(page, cover, row, column, [rows, columns]) {
  const value = cover.locator("xpath=ancestor::figure[1]").locator(".readout[data-value]");
  for (let attempt = 0; attempt < 20; ++attempt) {
    const box = await boxOf(cover);
    const [x, y] = [box.x + ((column + 0.5) * box.width) / columns, box.y + ((row + 0.5) * box.height) / rows];
    await page.mouse.move(x + 0.25 * (attempt % 2), y); // a browser ignores a pointer that does not move
    if ((await value.count()) > 0) return;
  }
}
