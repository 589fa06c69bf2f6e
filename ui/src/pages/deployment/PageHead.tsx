import { Link } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import { CopyButton } from "@/components/Copy";
import { Top } from "@/components/Shell";
import { pageTexts } from "@/pages/deployment/pageTexts";

/** The bar above the page, in each of its states: on a phone the menu is in it. */
export function Head({ name, children }: { name?: string; children?: ReactNode }) {
  return (
    <Top>
      <div className="crumb">
        <Link to="/deployments" search={{}}>
          {pageTexts.crumbs}
        </Link>
        {name ? <Name name={name} /> : null}
      </div>
      {children}
    </Top>
  );
}

function Name({ name }: { name: string }) {
  return (
    <>
      <ChevronRight className="i sm" aria-hidden="true" />
      <b className="tr" title={name}>
        {name}
      </b>
      <CopyButton text={name} what={name} />
    </>
  );
}
