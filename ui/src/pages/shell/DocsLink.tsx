import { BookOpen } from "lucide-react";
import { shellTexts } from "@/pages/shell/shellTexts";

/** The documentation, which the control plane serves beside the pages: whoever looks something up keeps their page. */
export function DocsLink() {
  return (
    <a
      className="btn ghost sm ic"
      href="/docs/"
      target="_blank"
      rel="noopener"
      aria-label={shellTexts.docs}
      title={shellTexts.docs}
    >
      <BookOpen className="i sm" aria-hidden="true" />
    </a>
  );
}
