import "./gallery.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { loadChunk } from "@/components/loadChunk";
import { useTitle } from "@/components/Shell";
import { Skeletons } from "@/components/States";
import { galleryTexts as t } from "@/pages/components/galleryTexts";
import { Charts } from "./Charts";
import { Selects, TagPickers } from "./Choosing";
import { filledCache } from "./examples";
import { Cards, Placements, Rows } from "./Lists";
import { Lives, Logs } from "./Logs";
import { Menus } from "./Menus";
import { Over } from "./Over";
import { Buttons, Fields, Notices, Pages, Small, States, Tables } from "./Parts";
import { AuditLines, Cells } from "./People";
import { Approvals, Beats, Edges, Lefts, Steps, Strips } from "./Runs";
import { NodeChecks, Preflights } from "./Verdicts";

const Drawing = lazy(() => loadChunk(() => import("./Drawing")));

/** Every component in every state, light beside dark; a route of the development server only. */
export function Components() {
  useTitle(t.title);
  const [cache] = useState(filledCache);
  return (
    <QueryClientProvider client={cache}>
      <main className="main h-dvh" id="main">
        <header className="top">
          <h1>{t.title}</h1>
          <span className="t2 tr">{t.what}</span>
        </header>
        <div className="body">
          <Over />
          <div className="both">
            <Theme name="light" />
            <Theme name="dark" />
          </div>
        </div>
      </main>
    </QueryClientProvider>
  );
}

/** light-dark() is decided where it is used, so each half only says which it is. */
function Theme({ name }: { name: "light" | "dark" }) {
  return (
    <section className="half" style={{ colorScheme: name }} aria-label={t[name]}>
      <h2>{t[name]}</h2>
      <Buttons />
      <Fields />
      <TagPickers />
      <Selects />
      <States />
      <Lives />
      <Notices />
      <Pages />
      <Preflights />
      <NodeChecks />
      <Placements />
      <Steps />
      <Edges />
      <Beats />
      <Strips />
      <Lefts />
      <Approvals />
      <Logs />
      <Charts />
      <Rows />
      <Cards />
      <Cells />
      <AuditLines />
      <Menus />
      <Small />
      <Tables />
      <Suspense fallback={<Skeletons count={12} />}>
        <Drawing />
      </Suspense>
    </section>
  );
}
