// Whether text has room: none is cut off without a sign of it, none lies on another, none is outside of the window.

/**
 * What is wrong with the text of a page, as sentences; runs in the page. Text that ends in "…" is meant to, what
 * scrolls can be reached, and the editor's canvas is drawn like a map: those are left out.
 */
export function findCrowded() {
  const shown = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const quote = (node) => `“${node.textContent.trim().slice(0, 40)}”`;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (
      !node.textContent.trim() ||
      parent.closest("script, style, option, svg, .skip, .react-flow")
    )
      continue;
    if (!parent.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    if (isForEars(parent)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter((box) => box.width > 1 && box.height > 1);
    if (boxes.length > 0) shown.push({ node, boxes });
  }
  return [...shown.flatMap(cutOff), ...overlaps()];

  /** Only said, not shown: it is clipped to nothing. */
  function isForEars(element) {
    for (let around = element; around; around = around.parentElement)
      if (getComputedStyle(around).clipPath !== "none") return true;
    return false;
  }

  /** What of a box is left by those around it that hide what is outside of them. */
  function clipped({ left, top, right, bottom }, node) {
    const box = { left, top, right, bottom };
    for (let around = node.parentElement; around; around = around.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(around);
      const edge = around.getBoundingClientRect();
      if (overflowX !== "visible") {
        box.left = Math.max(box.left, edge.left);
        box.right = Math.min(box.right, edge.right);
      }
      if (overflowY !== "visible") {
        box.top = Math.max(box.top, edge.top);
        box.bottom = Math.min(box.bottom, edge.bottom);
      }
    }
    return { ...box, width: box.right - box.left, height: box.bottom - box.top };
  }

  /** How far the box reaches beyond one that hides what is outside. */
  function cutOff({ node, boxes }) {
    for (let around = node.parentElement; around; around = around.parentElement) {
      const { overflowX, overflowY, textOverflow, position } = getComputedStyle(around);
      if (/auto|scroll/.test(overflowX + overflowY)) return [];
      if (position === "fixed") break;
      if (overflowX === "visible" && overflowY === "visible") continue;
      if (textOverflow === "ellipsis" || around.closest(".tr, .line-clamp-2")) return [];
      const edge = around.getBoundingClientRect();
      for (const box of boxes) {
        const over = Math.max(box.right - edge.right, edge.left - box.left);
        const below = Math.max(box.bottom - edge.bottom, edge.top - box.top);
        if (overflowX !== "visible" && over > 1.5)
          return [`${quote(node)} is cut off by ${Math.round(over)} px`];
        if (overflowY !== "visible" && below > 3)
          return [`${quote(node)} is cut off by ${Math.round(below)} px in height`];
      }
    }
    const over = Math.max(...boxes.map(({ right, left }) => Math.max(right - innerWidth, -left)));
    return over > 1.5 ? [`${quote(node)} is ${Math.round(over)} px outside`] : [];
  }

  /** Pairs of texts that are drawn on each other: neither hides the other, both can be read. */
  function overlaps() {
    const found = [];
    const all = shown.flatMap(({ node, boxes }) =>
      boxes
        .map((box) => clipped(box, node))
        .filter((box) => box.width > 1 && box.height > 1 && seen(node, box))
        .map((box) => ({ node, box })),
    );
    all.sort((a, b) => a.box.top - b.box.top);
    for (const [at, one] of all.entries())
      for (const other of all.slice(at + 1)) {
        if (other.box.top > one.box.bottom - 4) break;
        const wide =
          Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
        if (one.node !== other.node && wide > 2)
          found.push(`${quote(one.node)} and ${quote(other.node)} lie on each other`);
      }
    return found;
  }

  /** What is under the middle of a text is the text: nothing that is above hides it. */
  function seen(node, { left, top, width, height }) {
    const there = document.elementFromPoint(left + width / 2, top + height / 2);
    return there && (there.contains(node) || node.parentElement.contains(there));
  }
}
