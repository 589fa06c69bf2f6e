import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { ask, client, type NodeInfo } from "@/api/client";
import { describeError } from "@/components/States";
import { useToast } from "@/components/Toast";
import { nodeTexts } from "@/nodeTexts";
import { pageTexts } from "@/pages/deployment/pageTexts";

const t = nodeTexts;

export type Kind = "enable" | "disable" | "undrain" | "revoke" | "remove" | "forget";

/** Anyway is set if the question named those whom it interrupts. */
type Asked =
  | { kind: Kind; anyway?: true | undefined }
  | { kind: "approve"; thumbprint: string }
  | { kind: "reject"; thumbprint: string };

/** Acts on a node whose answer is the node, or nothing. */
export function useNodeAct(name: string) {
  const cache = useQueryClient();
  const navigate = useNavigate();
  const say = useToast();
  const params = { path: { name } };
  return useMutation({
    mutationFn: async (asked: Asked): Promise<NodeInfo | undefined> => {
      if (asked.kind === "approve")
        return ask(
          client.POST("/api/v1/nodes/{name}/approve", {
            params,
            body: { thumbprint: asked.thumbprint },
          }),
        );
      if (asked.kind === "reject")
        return ask(
          client.POST("/api/v1/nodes/{name}/reject", {
            params,
            body: { thumbprint: asked.thumbprint },
          }),
        );
      if (asked.kind === "undrain")
        return ask(client.DELETE("/api/v1/nodes/{name}/drain", { params }));
      if (asked.kind === "enable")
        return ask(client.POST("/api/v1/nodes/{name}/enable", { params }));
      const cuts = { params: { ...params, query: { anyway: asked.anyway } } };
      if (asked.kind === "disable") return ask(client.POST("/api/v1/nodes/{name}/disable", cuts));
      if (asked.kind === "revoke") return ask(client.DELETE("/api/v1/nodes/{name}/token", cuts));
      if (asked.kind === "forget") await ask(client.POST("/api/v1/nodes/{name}/forget", cuts));
      else await ask(client.DELETE("/api/v1/nodes/{name}", { params }));
      return undefined;
    },
    onSuccess: (node, asked) => {
      say("done", t.asked[asked.kind]);
      void cache.invalidateQueries({ queryKey: ["nodes"] });
      if (node) cache.setQueryData(["node", name], node);
      else if (asked.kind !== "forget") void navigate({ to: "/nodes" });
      // What was left there is written down in the list of those that were given up.
      else void navigate({ to: "/nodes", search: { given: name } });
    },
    onError: (error) => say("failed", pageTexts.refused(describeError(error).message)),
  });
}
