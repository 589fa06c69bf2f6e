import { Link } from "@tanstack/react-router";
import { buttonClass } from "@/components/Button";
import { pageTexts } from "@/pages/deployment/pageTexts";

const t = pageTexts;

/** Says that an earlier run is shown, and leads to the latest in the same tab. */
export function EarlierRunNotice({ number }: { number: number }) {
  return (
    <div className="row px-4 py-1.5 t2 s">
      {t.earlier(number)}
      <Link
        className={buttonClass("plain", true)}
        to="."
        params={(before: object) => before}
        search={{}}
      >
        {t.latest}
      </Link>
    </div>
  );
}
