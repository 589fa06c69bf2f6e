import { Button } from "@/components/Button";
import { Refusal } from "@/components/Field";
import { describeError } from "@/components/States";
import { formTexts } from "@/forms/formTexts";
import { texts } from "@/texts";

/** The query of a field's options, and the message if it failed. */
export type Source = {
  what: string;
  of: { error: unknown; isFetching: boolean; refetch: () => unknown };
};

/**
 * Shown when a field's options could not be loaded, with a retry. Without it the field would look
 * as if there were no options.
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
