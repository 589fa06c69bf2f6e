import type { Deployment, Me } from "@/api/client";
import { paletteTexts } from "@/pages/shell/paletteTexts";
import { texts } from "@/texts";
import { mainUrl } from "../deployments/filters";
import { whyNotInRow } from "../deployments/rowWhyNot";
import type { Command } from "./commands";

// What somebody types as a sentence: an act, the deployment it is meant for, and perhaps a service
// of it, in any order. "clone cart", "logs api cart", "retry cart".

const t = paletteTexts.phrases;

export type Act = "extend" | "retry";
type Verb = keyof typeof t;
const verbs = Object.keys(t) as Verb[];

/** So many deployments are offered for one sentence, the last changed first. */
const MOST = 8;

type Known = {
  all: Deployment[];
  person: Me;
  /** Why this person may not create. */
  noCreate?: string;
  act: (kind: Act, one: Deployment) => void;
};

/** The acts that a sentence may mean; none where it does not begin with an act. */
export function phraseCommands(typed: string, known: Known): Command[] {
  const [first = "", ...words] = typed.trim().toLowerCase().split(/\s+/);
  const verb = verbs.find((one) => first.length > 2 && t[one].word.startsWith(first));
  if (!verb || words.length === 0) return [];
  return known.all
    .map((one) => ({ one, service: matchWords(one, words) }))
    .filter(({ service }) => service !== undefined)
    .sort((a, b) => b.one.changed_at.localeCompare(a.one.changed_at))
    .slice(0, MOST)
    .map(({ one, service }) => makeCommand(verb, one, service || undefined, known));
}

/** The service that the words name beside the deployment, "" for none; undefined if they mean another. */
function matchWords({ name, services }: Deployment, words: string[]): string | undefined {
  let service = "";
  let named = false;
  for (const word of words) {
    const found = services.find(({ step }) => step.toLowerCase().startsWith(word));
    // At the beginning of a part of the name, as people shorten it.
    if (`-${name.toLowerCase()}`.includes(`-${word}`)) named = true;
    else if (found && !service) service = found.step;
    else return undefined;
  }
  return named ? service : undefined;
}

function makeCommand(
  verb: Verb,
  one: Deployment,
  service: string | undefined,
  { person, noCreate, act }: Known,
): Command {
  const { id, name, project, environment } = one;
  const common: Command = {
    id: `do ${verb} ${id}`,
    group: "acts",
    label: t[verb].label(name, service),
    detail: `${project}, ${environment}`,
  };
  if (verb === "clone")
    return { ...common, to: "/deployments/new", search: { from: id }, reason: noCreate };
  if (verb === "open") {
    const url = service
      ? one.services.find(({ step }) => step === service)?.url
      : mainUrl(one)?.url;
    const reason = url ? undefined : texts.list.noUrl(name);
    return { ...common, reason, run: () => window.open(url, "_blank", "noreferrer") };
  }
  if (verb === "extend" || verb === "retry") {
    const lack = one.level === "full" ? undefined : texts.lack.full(project);
    const reason = lack ?? whyNotInRow(verb, one, person);
    return { ...common, reason, run: () => act(verb, one) };
  }
  return { ...common, to: `/d/${id}/${verb}`, search: service ? { log: service } : {} };
}
