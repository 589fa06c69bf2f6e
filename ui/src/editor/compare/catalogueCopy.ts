import type { Schemas } from "@/api/client";
import type { Catalogue } from "../model/catalogue";
import { type Doc, type Step, withoutCatalogueCopy } from "../model/document";
import { changesOf, type StepChange } from "../model/merge";

type Image = NonNullable<NonNullable<Step["service"]>["image"]>;

/** A drawing with what publishing would copy into it of the catalogue as it is now. */
export function withCatalogueCopy(doc: Doc, catalogue: Catalogue): Doc {
  return {
    ...doc,
    steps: doc.steps.map((step) => withCatalogue(withoutCatalogueCopy(step), catalogue)),
  };
}

function withCatalogue(step: Step, { services, plugins }: Catalogue): Step {
  const service = step.service && services.get(step.service.name);
  if (step.service && service)
    return { ...step, service: { ...step.service, image: ofService(service) } };
  const job = step.job && services.get(step.job.name);
  if (step.job && job) return { ...step, job: { ...step.job, image: ofService(job) } };
  const plugin = step.plugin && plugins.get(step.plugin.name);
  if (!step.plugin || !plugin) return step;
  const { component } = plugin;
  return { ...step, plugin: { ...step.plugin, image: ofPlugin(plugin), component } };
}

function ofService({ registry_host, image, tag_mode, tag, pattern }: Schemas["Service"]): Image {
  return { registry: registry_host, repository: image, tag_mode, tag, pattern };
}

function ofPlugin({ registry_host, image, tag, digest }: Schemas["Plugin"]): Image {
  return { registry: registry_host, repository: image, tag_mode: "pinned", tag, digest };
}

/** What differs between two versions, with what they carry of the catalogue. */
export function versionChanges(old: Doc, now: Doc): StepChange[] {
  return changesOf(old, now, withImageText);
}

/** A step whose image is written as people write images. */
function withImageText(step: Step): Step {
  const { service, job, plugin } = step;
  if (service?.image)
    return { ...step, service: { ...service, image: formatImage(service.image) } };
  if (job?.image) return { ...step, job: { ...job, image: formatImage(job.image) } };
  if (plugin?.image) return { ...step, plugin: { ...plugin, image: formatImage(plugin.image) } };
  return step;
}

function formatImage({ registry, repository, tag, pattern, digest }: Image): Image {
  const parts = [`${registry}/${repository}`, tag && `:${tag}`, digest && `@${digest}`];
  return `${parts.filter(Boolean).join("")}${pattern ? ` (${pattern})` : ""}` as unknown as Image;
}
