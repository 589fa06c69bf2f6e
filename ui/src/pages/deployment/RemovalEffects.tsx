import { useQuery } from "@tanstack/react-query";
import type { Deployment } from "@/api/client";
import { activity } from "@/api/queries/activity";
import { pipelineVersion } from "@/api/queries/catalog";
import { useNow } from "@/components/Time";
import { describeLastUse, volumesOf } from "@/pages/deployment/endingTexts";
import { pageTexts } from "@/pages/deployment/pageTexts";

const t = pageTexts;

/** What deleting takes, and who would miss it. What cannot be known is not counted. */
export function RemovalEffects({ deployment }: { deployment: Deployment }) {
  const { id, status, services, expires_at } = deployment;
  const now = useNow(10);
  const use = useQuery(activity(id, expires_at)).data;
  const volumes = useVolumes(deployment);
  if (status === "failed") return <p>{t.removeFailedBody}</p>;
  const urls = services.filter((service) => service.url).length;
  const used = use && describeLastUse(use.items, now);
  return (
    <>
      <p>{t.removeBody(services.length, urls, volumes)}</p>
      {used ? <p>{used}</p> : null}
    </>
  );
}

/** Its volumes, from the published version; the document of a preview run is not stored. */
function useVolumes(deployment: Deployment): string[] | undefined {
  const { project, pipeline_version: version, scratch } = deployment;
  const drawn = useQuery({ ...pipelineVersion(project, version), enabled: !scratch }).data;
  return drawn && volumesOf(deployment, drawn.pipeline);
}
