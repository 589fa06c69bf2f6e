import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { describeError } from "@/components/States";
import { formTexts } from "@/forms/formTexts";
import { texts } from "@/texts";

/** Where a field's choices come from, and what is said when they could not be read. */
export type Source = {
  what: string;
  of: { error: unknown; isFetching: boolean; refetch: () => unknown };
};

/**
 * What a field can't offer because it could not be read, and another try. Without it a field without
 * choices looks like an installation without things.
 */
export function UnreadSource({ what, of }: Source) {
  if (!of.error) return null;
  const { message, request } = describeError(of.error);
  return (
    <div className="col gap-1">
      <Refusal>
        {what} {message}
      </Refusal>
      <span className="row wrap">
        <Button small busy={of.isFetching && formTexts.asking} onClick={() => void of.refetch()}>
          {texts.tryAgain}
        </Button>
        {request ? <span className="t2 s mono">{texts.request(request)}</span> : null}
      </span>
    </div>
  );
}
