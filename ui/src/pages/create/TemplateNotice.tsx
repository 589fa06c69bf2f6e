import type { UseQueryResult } from "@tanstack/react-query";
import type { Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorState } from "@/components/States";
import { deployTexts } from "@/pages/deployTexts";

const t = deployTexts.template;

type Asked = {
  /** The template that the address names, if it names one. */
  wanted?: string;
  query: Pick<UseQueryResult<Schemas["Template"][]>, "data" | "isError" | "error" | "refetch">;
};

const lacks = ({ wanted, query }: Asked) =>
  wanted !== undefined && !query.data?.some((one) => one.name === wanted);

/** Why nothing is created yet: the template that was asked for is not in the form. */
export function whyNoTemplate(asked: Asked): string | undefined {
  const { wanted, query } = asked;
  if (!wanted || !lacks(asked)) return undefined;
  if (query.isError) return t.unreadReason(wanted);
  return query.data ? t.gone(wanted) : t.reading(wanted);
}

/** Whether a reason stands in the notice below already. */
export const saysGone = ({ wanted }: Asked, reason?: string) =>
  wanted !== undefined && reason === t.gone(wanted);

/** Says that the template of the address is not there, or that the templates could not be read. */
export function TemplateNotice({ without, ...asked }: Asked & { without: () => void }) {
  const { wanted, query } = asked;
  const goOn = wanted ? (
    <Button act={t.without} small onClick={without}>
      {t.without}
    </Button>
  ) : null;
  if (query.isError && (!query.data || lacks(asked)))
    return (
      <div className="col">
        <ErrorState what={t.unread} error={query.error} retry={() => void query.refetch()} />
        {goOn ? <div className="row px-4">{goOn}</div> : null}
      </div>
    );
  if (!wanted || !query.data || !lacks(asked)) return null;
  return (
    <div className="box" data-st="warn" role="alert">
      <span className="grow">{t.gone(wanted)}</span>
      {goOn}
    </div>
  );
}
