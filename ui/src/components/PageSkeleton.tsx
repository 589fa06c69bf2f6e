import type { ReactNode } from "react";
import { Skeletons } from "./States";

/** What a page looks like from afar. Each route names its own, so that nothing jumps when the page is there. */
export type PageShape = "list" | "deployment" | "editor" | "cards" | "form" | "sheet";

/** The outline of a page, shown after 150 ms. Screen readers hear that the region is busy. */
export function PageSkeleton({ shape }: { shape: PageShape }) {
  const Outline = outlines[shape];
  return (
    <div className="oshape" data-shape={shape} aria-busy="true">
      <Outline />
    </div>
  );
}

const Bones = ({ count, of = "" }: { count: number; of?: string }) =>
  Array.from({ length: count }, (_, i) => (
    <span key={i} className={`skeleton ${of}`} aria-hidden="true" />
  ));

const Form = () => (
  <div className="ofields">
    <Bones count={6} of="oline" />
  </div>
);

const outlines: Record<PageShape, () => ReactNode> = {
  list: () => (
    <>
      <div className="obar">
        <Bones count={4} of="ochip" />
      </div>
      <Skeletons count={12} />
    </>
  ),
  deployment: () => (
    <>
      <div className="dh">
        <Bones count={2} of="oline" />
      </div>
      <div className="obar">
        <Bones count={5} of="grow" />
      </div>
      <div className="osplit">
        <div className="ofields">
          <Bones count={5} of="ostep" />
        </div>
        <Skeletons count={10} height={24} />
      </div>
    </>
  ),
  editor: () => (
    <div className="ocanvas">
      <Skeletons count={9} height={40} />
      <div className="ofields">
        <Bones count={4} of="ostep" />
      </div>
    </div>
  ),
  cards: () => (
    <div className="ocards">
      <Bones count={6} of="ocard" />
    </div>
  ),
  form: Form,
  sheet: () => (
    <>
      <div className="scrim" />
      <div className="sheet">
        <div className="sh">
          <Bones count={1} of="ochip" />
        </div>
        <Form />
      </div>
    </>
  ),
};
