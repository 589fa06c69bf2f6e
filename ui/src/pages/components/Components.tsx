import { Top, useTitle } from "@/components/Shell";
import { galleryTexts as t } from "@/galleryTexts";
import { Over } from "./Over";
import { Buttons, Fields, Notices, Pages, Small, States, Tables } from "./Parts";

/** Every component in every state, light beside dark; a route of the development server only. */
export function Components() {
  useTitle(t.title);
  return (
    <>
      <Top>
        <h1>{t.title}</h1>
        <span className="t2 tr">{t.what}</span>
      </Top>
      <div className="body">
        <Over />
        <div className="both">
          <Theme name="light" />
          <Theme name="dark" />
        </div>
      </div>
    </>
  );
}

/** light-dark() is decided where it is used, so each half only says which it is. */
function Theme({ name }: { name: "light" | "dark" }) {
  return (
    <section className="half" style={{ colorScheme: name }} aria-label={t[name]}>
      <h2>{t[name]}</h2>
      <Buttons />
      <Fields />
      <States />
      <Notices />
      <Pages />
      <Small />
      <Tables />
    </section>
  );
}
