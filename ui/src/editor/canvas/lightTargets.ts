/** Lights up what a line that is being drawn can be dropped on; everything else steps back. */
import type { Catalogue } from "../model/catalogue";
import type { Doc } from "../model/document";
import { whyNotConnect } from "./connections";
import { connectionsWith, type PortEnd } from "./stepConnections";

export function lightTargets(end: PortEnd | null, doc: Doc, catalogue: Catalogue) {
  for (const step of document.querySelectorAll<HTMLElement>(".cv .en[data-key]")) {
    const key = step.dataset.key ?? "";
    const own = key === end?.node;
    light(step, end && !own ? connectionsWith(doc, catalogue, end, key).length > 0 : undefined);
    for (const port of step.querySelectorAll<HTMLElement>(".react-flow__handle"))
      light(port, end && !own ? takes(end, key, port, doc, catalogue) : undefined);
  }
}

function light(what: HTMLElement, fits: boolean | undefined) {
  if (fits === undefined) delete what.dataset.drop;
  else what.dataset.drop = fits ? "yes" : "no";
}

function takes(end: PortEnd, key: string, port: HTMLElement, doc: Doc, catalogue: Catalogue) {
  if (port.classList.contains(end.type)) return false;
  const other = { node: key, handle: port.dataset.handleid ?? "" };
  const [source, target] = end.type === "source" ? [end, other] : [other, end];
  const connection = {
    source: source.node,
    sourceHandle: source.handle,
    target: target.node,
    targetHandle: target.handle,
  };
  return whyNotConnect(doc, catalogue, connection) === null;
}
