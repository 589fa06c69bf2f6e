import type { Deployment, Schemas } from "@/api/client";
import { hasEnded } from "@/api/deploymentState";

type Pipeline = Schemas["Pipeline"];
type Values = Record<string, unknown>;

/** The key of the only step of a test run. */
export const STEP = "try";

/** What is put into the plugin: its parameters, and which secret of the project stands for each it reads. */
export type Given = { parameters: Values; secrets: Record<string, string> };

/** A pipeline that is the plugin and nothing else; a secret that was not chosen is not given. */
export function pipelineOf(plugin: string, given: Given): Pipeline {
  const secrets = Object.entries(given.secrets)
    .filter(([, secret]) => secret !== "")
    .map(([name, secret]) => [name, `\${{ secrets.${secret} }}`]);
  return {
    format: 1,
    steps: [
      {
        key: STEP,
        needs: [],
        plugin: {
          name: plugin,
          parameters: given.parameters,
          secrets: secrets.length > 0 ? Object.fromEntries(secrets) : undefined,
        },
      },
    ],
  };
}

/** The parameters with another value at a path as the form names it; an emptied one is left out. */
export function withParameter(parameters: Values, path: string, value: unknown): Values {
  const name = path.replace(/^plugin\.parameters\./, "");
  const { [name]: _, ...others } = parameters;
  return value === undefined ? others : { ...others, [name]: value };
}

/** Whether nothing of a test run is left to remove, or it is being removed already. */
export const isGoing = (status: Deployment["status"]) =>
  hasEnded(status) || status === "removing" || status === "undoing";

/** A deployment's name that no other test run has. */
export const nameOfTrial = (plugin: string, now = Date.now()) =>
  `try-${plugin.slice(0, 20).replace(/-+$/, "")}-${now.toString(36)}`;
