/** What a service's image says about how it runs, against what a step says. */
import type { Schemas } from "@/api/client";
import { editorTexts } from "@/editor/editorTexts";
import { type Container, containerOf, containerPath, type Doc, type Step } from "./document";
import type { Problem } from "./problems";

export type ServiceImage = Schemas["ServiceImage"];
/** By the name of the service; a service whose image could not be read has none. */
export type ServiceImages = Map<string, ServiceImage>;

const t = editorTexts.image;

/** One thing that the image says and the step does not. */
export type Proposal = {
  id: string;
  label: string;
  /** The field and its new value. */
  path: string;
  value: unknown;
};

/** What could be taken over from the image, the most needed first. */
export function proposalsOf(step: Step, image: ServiceImage | undefined): Proposal[] {
  const container = containerOf(step);
  if (!container || !image) return [];
  const at = containerPath(step);
  return [
    ...missingVariables(container, image).map(({ name, value }) => ({
      id: `env ${name}`,
      label: t.variable(name, value),
      path: `${at}.env.${name}`,
      value: value ?? "",
    })),
    ...proposePorts(container, image, at),
    ...(step.service ? proposeReadiness(step.service, image) : []),
    ...proposeVolumes(container, image, at),
  ];
}

/** The variables that the image does not start without, and that the step does not set. */
export function missingVariables(container: Container, { requires }: ServiceImage) {
  const env = container.env ?? {};
  // Most images also read such a variable from a file.
  return requires.filter(({ name }) => !(name in env) && !(`${name}_FILE` in env));
}

function proposePorts({ ports = [] }: Container, image: ServiceImage, at: string): Proposal[] {
  const taken = new Set(ports.map((one) => one.port));
  const free = image.ports.filter(({ port, protocol }) => protocol === "tcp" && !taken.has(port));
  return free.map(({ port }) => {
    const name = freePortName(port, new Set(ports.map((one) => one.name)));
    return {
      id: `port ${port}`,
      label: t.port(port),
      path: `${at}.ports`,
      value: [...ports, { name, port }],
    };
  });
}

const NAMES: Record<number, string> = { 80: "http", 443: "https", 3000: "http", 8080: "http" };

function freePortName(port: number, taken: Set<string>): string {
  const usual = NAMES[port];
  return usual && !taken.has(usual) ? usual : `port-${port}`;
}

type Service = NonNullable<Step["service"]>;

/** Its own check where it has one; else that its first port accepts connections. */
function proposeReadiness(service: Service, image: ServiceImage): Proposal[] {
  if (service.ready) return [];
  const path = "service.ready";
  if (image.health?.length) return [{ id: path, label: t.ownCheck, path, value: { image: true } }];
  const port = image.ports.find((one) => one.protocol === "tcp")?.port;
  return port ? [{ id: path, label: t.accepts(port), path, value: { tcp: { port } } }] : [];
}

function proposeVolumes({ volumes = [] }: Container, image: ServiceImage, at: string): Proposal[] {
  const mounted = volumes.map((one) => one.path);
  const free = image.volumes.filter((path) => !mounted.includes(path));
  return free.map((path) => {
    const last = path.split("/").filter(Boolean).at(-1) ?? "data";
    const name = last.toLowerCase().replace(/[^a-z0-9-]+/g, "-");
    return {
      id: `volume ${path}`,
      label: t.volume(path),
      path: `${at}.volumes`,
      value: [...volumes, { name, path }],
    };
  });
}

/**
 * The proposals one after the other, each on what the one before left: two ports are two entries of
 * one list.
 */
export function takeAll(
  step: Step,
  image: ServiceImage,
  set: (step: Step, path: string, value: unknown) => Step,
): Step {
  let now = step;
  for (let left = proposalsOf(now, image); left[0]; left = proposalsOf(now, image))
    now = set(now, left[0].path, left[0].value);
  return now;
}

/** What is missing without which an image does not start. */
export function imageProblems(doc: Doc, images: ServiceImages): Problem[] {
  return doc.steps.flatMap((step) => {
    const container = containerOf(step);
    const image = images.get(container?.name ?? "");
    if (!container || !image) return [];
    return missingVariables(container, image).map(({ name }) => ({
      step: step.key,
      field: `${containerPath(step)}.env`,
      code: "needs_variable",
      message: t.needs(container.name, name),
      advice: true,
    }));
  });
}
