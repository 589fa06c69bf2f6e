import type { Deployment, NodeInfo } from "@/api/client";
import { hasEnded } from "@/api/deploymentState";
import { groupOf } from "../deployments/filters";

/** A node with what runs on it. */
export type Host = { node: NodeInfo; deployments: Deployment[]; troubled: boolean };

/** An environment with its nodes, and what has no node yet. */
export type Site = {
  name: string;
  hosts: Host[];
  waiting: Deployment[];
  count: number;
  /** How many nodes and deployments need a person. */
  troubles: number;
};

/** What a node is in that nobody has to do anything about. */
const well = ["online", "disabled", "enrolled"];

const needsPerson = (one: Deployment) => groupOf(one) === "attention";

/** Puts nodes and deployments in their places; what needs a person comes first in each. */
export function buildSites(
  environments: { name: string }[],
  nodes: NodeInfo[],
  deployments: Deployment[],
): Site[] {
  const present = deployments.filter(({ status }) => !hasEnded(status));
  return [...environments]
    .sort((a, b) => a.name.localeCompare(b.name))
    .map(({ name }) => {
      const own = present.filter((one) => one.environment === name).sort(byNeed);
      const here = nodes.filter((node) => node.environment === name);
      const hosts = here.map((node): Host => {
        const on = own.filter((one) => one.node === node.name);
        const troubled = !well.includes(node.status);
        return { node, deployments: on, troubled };
      });
      hosts.sort(
        (a, b) =>
          Number(hasTrouble(b)) - Number(hasTrouble(a)) || a.node.name.localeCompare(b.node.name),
      );
      return {
        name,
        hosts,
        waiting: own.filter((one) => !here.some((node) => node.name === one.node)),
        count: own.length,
        troubles: own.filter(needsPerson).length + hosts.filter((one) => one.troubled).length,
      };
    });
}

export function hasTrouble({ troubled, deployments }: Host): boolean {
  return troubled || deployments.some(needsPerson);
}

function byNeed(a: Deployment, b: Deployment): number {
  return Number(needsPerson(b)) - Number(needsPerson(a)) || a.name.localeCompare(b.name);
}

/** Only the parts of sites that need a person. */
export function onlyTroubles(sites: Site[]): Site[] {
  return sites
    .filter((site) => site.troubles > 0)
    .map((site) => ({
      ...site,
      hosts: site.hosts.filter(hasTrouble).map((host) => ({
        ...host,
        deployments: host.deployments.filter(needsPerson),
      })),
      waiting: site.waiting.filter(needsPerson),
    }));
}
