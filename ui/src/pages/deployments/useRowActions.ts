import { useRouter } from "@tanstack/react-router";
import { type MouseEvent, useCallback } from "react";
import type { Deployment } from "@/api/client";
import { hasEnded } from "@/api/deploymentState";
import { copyText } from "@/components/Copy";
import { useToast } from "@/components/Toast";
import { texts } from "@/texts";
import { mainUrl } from "./filters";

const t = texts.list;

/** What a row does when it is pressed. `copy` and `follow` stay the same, so that rows render once. */
export function useRowActions() {
  const say = useToast();
  const copy = useCallback(
    async (deployment: Deployment) => {
      const url = mainUrl(deployment)?.url;
      if (!url) return say("failed", t.noUrl(deployment.name));
      if (await copyText(url)) say("done", t.urlCopied(url));
    },
    [say],
  );
  const router = useRouter();
  const follow = useCallback(
    (event: MouseEvent, { id, status, environment, name }: Deployment) => {
      // Another tab, another window, a download: the browser's to do.
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      if (hasEnded(status)) return void router.navigate({ to: "/d/$id/{-$tab}", params: { id } });
      const to = "/deployments/$environment/$name/{-$tab}";
      void router.navigate({ to, params: { environment, name } });
    },
    [router],
  );
  const open = (deployment: Deployment) => {
    const url = mainUrl(deployment)?.url;
    if (url) window.open(url, "_blank", "noreferrer");
    else say("failed", t.noUrl(deployment.name));
  };
  return { copy, follow, open };
}
