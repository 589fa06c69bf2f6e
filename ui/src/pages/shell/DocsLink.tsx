import { shellTexts } from "@/pages/shell/shellTexts";

/** The documentation, which the control plane serves beside the pages: whoever looks something up keeps their page. */
export function DocsLink() {
  return (
    <a className="nav" href="/docs/" target="_blank" rel="noopener" title={shellTexts.docs}>
      <b className="i text-center" aria-hidden="true">
        ?
      </b>
      <span className="l">{shellTexts.docs}</span>
    </a>
  );
}
