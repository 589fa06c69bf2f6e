import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { useToast } from "@/components/Toast";
import { editorTexts as t } from "@/editor/editorTexts";

export type ComposeReading = Schemas["ComposeReading"];

/** The most that a file may have, in bytes. */
const MOST = 1 << 20;

type Given = { project: string; draw: (steps: ComposeReading["pipeline"]["steps"]) => void };

/** Makes a drawing of a Compose file; what the catalogue lacks for it is added first. */
export function useCompose({ project, draw }: Given) {
  const [reading, setReading] = useState<ComposeReading>();
  const [busy, setBusy] = useState(false);
  const cache = useQueryClient();
  const say = useToast();
  const failed = (error: unknown) => say("failed", error instanceof Error ? error.message : "");

  const read = async (file: File) => {
    if (file.size > MOST) return say("failed", t.compose.large);
    try {
      const text = await file.text();
      setReading(
        await ask(
          client.POST("/api/v1/projects/{name}/compose", {
            params: { path: { name: project } },
            body: { text },
          }),
        ),
      );
    } catch (error) {
      failed(error);
    }
  };
  const apply = async (found: ComposeReading) => {
    setBusy(true);
    try {
      const documents = documentsOf(found);
      if (documents.length > 0)
        await ask(client.POST("/api/v1/documents", { body: { documents } }));
      await cache.invalidateQueries({ queryKey: ["project", project, "catalogue"] });
      draw(found.pipeline.steps);
      setReading(undefined);
    } catch (error) {
      failed(error);
    } finally {
      setBusy(false);
    }
  };
  return {
    reading,
    busy,
    read: (file: File) => void read(file),
    apply: () => reading && void apply(reading),
    close: () => setReading(undefined),
  };
}

/** What the catalogue lacks, as documents of one transaction. */
function documentsOf({ registries, services }: ComposeReading): Schemas["Document"][] {
  return [
    ...registries.map(({ name, host }) => ({
      kind: "registry" as const,
      name,
      action: "put" as const,
      definition: { host },
    })),
    ...services.map(({ name, ...service }) => ({
      kind: "service" as const,
      name,
      action: "put" as const,
      definition: { ...service, tag_mode: "selectable" },
    })),
  ];
}
