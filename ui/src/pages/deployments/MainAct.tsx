import { Link } from "@tanstack/react-router";
import type { Deployment } from "@/api/client";
import { Button, buttonClass } from "@/components/Button";
import { actTexts } from "@/pages/deployment/actTexts";
import { texts } from "@/texts";
import { waitsForMe } from "./filters";

// One path each, made once: the icons of the collection are half of a row's elements.
const copyIcon = <Icon d="M9 9h12v12H9zM15 5V3H3v12h2" />;
const openIcon = <Icon d="M10 5H4v15h15v-6M11 13 20.5 3.5M14 3h7v7" />;

function Icon({ d }: { d: string }) {
  return (
    <svg className="i sm" viewBox="0 0 24 24" fill="none" stroke="currentColor" aria-hidden="true">
      <path d={d} strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}

type ActProps = {
  deployment: Deployment;
  url?: { step: string; url: string };
  onRetry: () => void;
  onCopy: () => void;
};

function Retry({ deployment, retry }: { deployment: Deployment; retry: () => void }) {
  // The page of the deployment says who could do it.
  if (deployment.level !== "full") return null;
  return (
    <Button
      small
      onClick={retry}
      reason={deployment.scratch ? actTexts.scratchHint : undefined}
      aria-label={texts.list.retryOf(deployment.name)}
    >
      {texts.list.retry}
    </Button>
  );
}

/** The one act a row offers: what its state calls for, and nothing else. */
export function MainAct({ deployment, url, onRetry, onCopy }: ActProps) {
  const { name, environment, status } = deployment;
  if (status === "failed") return <Retry deployment={deployment} retry={onRetry} />;
  const asks = waitsForMe(deployment);
  if (status === "stuck" || asks)
    return (
      <Link
        className={buttonClass("plain", true)}
        to="/deployments/$environment/$name/{-$tab}"
        params={{ environment, name, tab: asks ? "run" : undefined }}
        aria-label={asks ? texts.list.answerOf(name) : texts.list.resolveOf(name)}
      >
        {asks ? texts.list.answer : texts.list.resolve}
      </Link>
    );
  if (!url) return null;
  const label = texts.list.open(url.step, name);
  const copy = texts.copy(url.url);
  return (
    <>
      <Button
        small
        icon
        look="ghost"
        className="more"
        aria-label={copy}
        title={copy}
        onClick={onCopy}
      >
        {copyIcon}
      </Button>
      <a
        className={buttonClass("ghost", true, true)}
        href={url.url}
        target="_blank"
        rel="noreferrer"
        aria-label={label}
        title={label}
      >
        {openIcon}
      </a>
    </>
  );
}
