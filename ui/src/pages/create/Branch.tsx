import { useMutation } from "@tanstack/react-query";
import { GitBranch } from "lucide-react";
import { useId, useState } from "react";
import { ask, client } from "@/api/client";
import { Button } from "@/components/Button";
import { describe } from "@/components/States";
import { StatusMark } from "@/components/Status";
import { deployTexts } from "@/deployTexts";

const t = deployTexts.branch;

type Props = {
  project: string;
  /** Branches that were seen among the newest tags; any other can be typed. */
  branches: string[];
  choose: (step: string, tag: string, branch: string) => void;
};

/** One branch for every service that has a build of it; says which take their default. */
export function Branch({ project, branches, choose }: Props) {
  const id = useId();
  const [branch, setBranch] = useState("");
  const found = useMutation({
    mutationFn: (wanted: string) =>
      ask(
        client.GET("/api/v1/projects/{name}/branch-tags", {
          params: { path: { name: project }, query: { branch: wanted } },
        }),
      ),
    onSuccess: (answer) => {
      for (const one of answer.services) if (one.tag) choose(one.step, one.tag, answer.branch);
    },
  });
  const apply = () => branch.trim() && found.mutate(branch.trim());
  const lacking = found.data?.services.filter((one) => !one.matched) ?? [];
  return (
    <div className="flex flex-col gap-1.5">
      <div className="row">
        <label className="s t2 nw" htmlFor={id}>
          {t.label}
        </label>
        <div className="in grow">
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
            {branches.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
        </div>
        <Button busy={found.isPending && t.busy} onClick={apply}>
          {t.apply}
        </Button>
      </div>
      <div role="status" className="s">
        {found.isError ? (
          <StatusMark state="failed">
            {t.unread} {describe(found.error).message}
          </StatusMark>
        ) : null}
        {found.data && lacking.length === 0 ? (
          <StatusMark state="ready">{t.all(found.data.branch)}</StatusMark>
        ) : null}
        {lacking.map((one) => (
          <div key={one.step}>
            <StatusMark state="warn">
              {t.lacks(one.step, found.data?.branch ?? "", one.tag ?? "")}
            </StatusMark>
          </div>
        ))}
      </div>
    </div>
  );
}
