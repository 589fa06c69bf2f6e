import { isNotFound } from "@/api/client";
import { PageSkeleton } from "@/components/PageSkeleton";
import { ErrorState } from "@/components/States";
import { pageTexts } from "@/pages/deployment/pageTexts";
import { NotFound } from "../shell/ErrorPages";
import { Head } from "./PageHead";

/** Before it is known. */
export function Loading({ name }: { name?: string }) {
  return (
    <>
      <Head name={name} />
      <Title name={name} />
      <PageSkeleton shape="deployment" />
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
        <>
          <Title name={name} />
          <ErrorState what={pageTexts.unread} error={error} retry={retry} />
        </>
      )}
    </>
  );
}

/** The heading that a screen reader goes to; the header that shows it comes with the deployment. */
const Title = ({ name }: { name?: string }) => (
  <h1 className="vh">{name ?? pageTexts.tabsLabel}</h1>
);
