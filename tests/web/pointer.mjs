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

// Moves the pointer to a cell of a heatmap.
export async function point(page, cover, row, column, [rows, columns]) {
  const box = await boxOf(cover);
  await page.mouse.move(box.x + ((column + 0.5) * box.width) / columns, box.y + ((row + 0.5) * box.height) / rows);
}
