import { isNotFound } from "@/api/client";
import { ErrorState, Skeletons } from "@/components/States";
import { texts } from "@/texts";
import { NotFound } from "../shell/Problems";
import { Head } from "./Crumbs";

/** Before it is known. */
export function Loading({ name }: { name?: string }) {
  return (
    <>
      <Head name={name} />
      <Skeletons count={10} height={44} />
    </>
  );
}

type Props = { name?: string; error: unknown; retry: () => void };

/** Not to be seen, or not to be read now. */
export function Unreadable({ name, error, retry }: Props) {
  return (
    <>
      <Head name={isNotFound(error) ? undefined : name} />
      {isNotFound(error) ? (
        <NotFound />
      ) : (
        <ErrorState what={texts.page.unread} error={error} retry={retry} />
      )}
    </>
  );
}
