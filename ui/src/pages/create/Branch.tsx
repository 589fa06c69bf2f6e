import { useMutation } from "@tanstack/react-query";
import { GitBranch } from "lucide-react";
import { useId, useState } from "react";
import { ask, client, type Schemas } from "@/api/client";
import { BidiSafe } from "@/components/BidiSafe";
import { Button } from "@/components/Button";
import { describeError } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { deployTexts } from "@/pages/deployTexts";
import type { useVersions } from "./Versions";

const t = deployTexts.branch;

type Chosen = Pick<ReturnType<typeof useVersions>, "branches" | "chosen" | "own">;

type Props = {
  project: string;
  /** Its branches were seen among the newest tags; any other can be typed. */
  versions: Chosen;
  choose: (step: string, tag: string, branch: string) => void;
};

/** One branch for every service that has a build of it; the others stay as they are, and it says why. */
export function Branch({ project, versions, choose }: Props) {
  const id = useId();
  const [branch, setBranch] = useState("");
  /** The result of the last choice; messages about versions that changed since are dropped. */
  const [before, setBefore] = useState<Chosen["own"]>({});
  const found = useMutation({
    mutationFn: (wanted: string) =>
      ask(
        client.GET("/api/v1/projects/{name}/branch-tags", {
          params: { path: { name: project }, query: { branch: wanted } },
        }),
      ),
    onSuccess: (answer) => {
      setBefore(versions.own);
      for (const { matched, step, tag } of answer.services)
        if (matched && tag) choose(step, tag, answer.branch);
    },
  });
  const apply = () => branch.trim() && found.mutate(branch.trim());
  return (
    <div className="flex flex-col gap-1.5">
      <div className="row flex-wrap">
        <label className="s t2 nw" htmlFor={id}>
          {t.label}
        </label>
        <div className="in grow basis-56">
          <GitBranch className="i sm t3" aria-hidden="true" />
          <input
            id={id}
            className="mono"
            list={`${id}-list`}
            placeholder={t.placeholder}
            value={branch}
            maxLength={200}
            spellCheck={false}
            autoComplete="off"
            onChange={(event) => setBranch(event.target.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
              event.preventDefault();
              apply();
            }}
          />
          <datalist id={`${id}-list`}>
            {versions.branches.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
        </div>
        <Button act={`${t.label}: ${t.apply}`} busy={found.isPending && t.busy} onClick={apply}>
          {t.apply}
        </Button>
      </div>
      <div role="status" className="s">
        {found.isError ? (
          <StatusMark state="failed">
            {t.unread} {describeError(found.error).message}
          </StatusMark>
        ) : null}
        {found.data ? (
          <Found answer={found.data} versions={versions} before={before} choose={choose} />
        ) : null}
      </div>
    </div>
  );
}

type FoundProps = {
  answer: Schemas["BranchTags"];
  versions: Chosen;
  before: Chosen["own"];
  choose: Props["choose"];
};

/** Who takes no part, and why; the default of its service is an offer. */
function Found({ answer, versions, before, choose }: FoundProps) {
  const { branch, services } = answer;
  const lacking = services.filter((one) => !one.matched);
  const holds = services.every((one) => !one.matched || versions.own[one.step] === one.tag);
  if (lacking.length === 0)
    return holds ? <StatusMark state="ready">{t.all(branch)}</StatusMark> : null;
  const same = lacking.filter(({ step }) => versions.own[step] === before[step]);
  return same.map(({ step, tag, reason }) => {
    const now = versions.chosen.find((one) => one.step === step)?.value;
    return (
      <div key={step} className="row flex-wrap">
        <StatusMark state="warn">{t.stays(step, now)}</StatusMark>
        <span className="t2 min-w-0 break-words">
          <BidiSafe text={reason ?? t.lacks(branch)} />
        </span>
        {tag && tag !== now ? (
          <button type="button" className="link" onClick={() => choose(step, tag, branch)}>
            {t.standard(tag)}
          </button>
        ) : null}
      </div>
    );
  });
}
