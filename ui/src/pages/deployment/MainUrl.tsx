import { ExternalLink } from "lucide-react";
import type { Deployment } from "@/api/client";
import { CopyButton } from "@/components/Copy";
import { texts } from "@/texts";
import { mainUrl } from "../deployments/filters";

/** Where it can be opened: what people came for, so nothing on the page is larger. */
export function MainUrl({ deployment }: { deployment: Deployment }) {
  const main = mainUrl(deployment);
  if (!main) return null;
  return (
    <div className="mainurl">
      <a
        href={main.url}
        target="_blank"
        rel="noreferrer"
        title={texts.list.open(main.step, deployment.name)}
      >
        {main.url}
        <ExternalLink className="i" aria-hidden="true" />
      </a>
      <CopyButton text={main.url} what={main.url} />
    </div>
  );
}
