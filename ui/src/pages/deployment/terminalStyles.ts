/**
 * A view of the document whose style elements are none. The terminal writes its styles into elements
 * of that name, which the page's policy forbids; style sheets made by scripts are allowed, so what is
 * written goes into one of those.
 */
export function inertStyles(real: Document): Document {
  return new Proxy(real, {
    get(target, key) {
      if (key === "createElement")
        return (name: string) => (name === "style" ? sheetOf(target) : target.createElement(name));
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/**
 * The same for the real document, as long as the work takes: a part of the terminal (6.0.0) makes its
 * style element there, whatever document it was given.
 */
export function withInertStyles(real: Document, work: () => void) {
  const create = real.createElement.bind(real);
  const inert = (name: string) => (name === "style" ? sheetOf(real) : create(name));
  Object.defineProperty(real, "createElement", { value: inert, configurable: true });
  try {
    work();
  } finally {
    Reflect.deleteProperty(real, "createElement");
  }
}

/** Mimics a style element for code that sets its text and removes it. */
function sheetOf(document: Document): HTMLElement {
  const element = document.createElement("span");
  element.hidden = true;
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  Object.defineProperty(element, "textContent", {
    get: () => "",
    set: (text: string) => sheet.replaceSync(text),
  });
  const remove = element.remove.bind(element);
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    remove();
  };
  return element;
}
