/** What the menu of the canvas says; loaded with it. */
export const menuTexts = {
  addAfter: "Add a step after it",
  addHere: "Add a step here",
  openStep: "Open its settings",
  noClipboard: "The browser does not let this page read the clipboard. Press Ctrl V instead.",
  copy: "Copy",
  duplicate: "Duplicate",
  paste: "Paste here",
  group: "Group",
  remove: "Delete",
  removeLine: "Delete the line",
  comment: "Add a comment",
  all: "Select all",
  fit: "Fit to the window",
  runHere: "Run from here…",
};
