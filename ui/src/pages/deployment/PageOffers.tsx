import { useNavigate } from "@tanstack/react-router";
import type { Deployment } from "@/api/client";
import { type PageAction, usePageAction } from "@/components/pageActions";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { deployTexts } from "@/pages/deployTexts";
import { tabNames, tabsFor, useGoTab } from "./Tabs";

const t = deployTexts.offers;

/** What the palette can do on this page that no button of its head does: its tabs, and what leads on. */
export function PageOffers({ deployment: { id, level } }: { deployment: Deployment }) {
  const navigate = useNavigate();
  const go = useGoTab();
  const compare = () => void navigate({ to: "/deployments/diff", search: { a: id } });
  return (
    <>
      {tabsFor(level).map((tab) => (
        <Offered key={tab} label={t.show(tabNames[tab] ?? tab)} run={() => go(tab)} />
      ))}
      <Offered label={deployTexts.details.openCapsule} run={() => go("capsule")} />
      <Offered label={pageTexts.compareWith} run={compare} />
    </>
  );
}

/** An act without a button of its own. */
function Offered(offer: PageAction) {
  usePageAction(offer);
  return null;
}
