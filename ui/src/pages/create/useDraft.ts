import { useMemo, useState } from "react";
import type { Schemas } from "@/api/client";
import { nameFromTag } from "@/components/names";
import { initialInput, type TypedInput } from "@/forms/inputValues";
import { initialVersions } from "./initialVersions";
import { type CreateSearch, versionsIn } from "./search";
import type { Clone, Project } from "./target";
import { useVersions } from "./Versions";

type Begun = {
  search: CreateSearch;
  project?: Project;
  clone?: Clone;
  template?: Schemas["Template"];
  /** The name that is suggested before anything is chosen. */
  suggested?: string;
};

/** What is typed and chosen in the sheet, beyond the place: it begins with what the address says. */
export function useDraft({ search, project, clone, template, suggested }: Begun) {
  const [opened] = useState(search);
  const begun = useMemo(() => initialVersions(clone, template), [clone, template]);
  const versions = useVersions(project, begun, versionsIn(opened));
  const [typed, type] = useState(opened.name);
  const [wait, setWait] = useState<boolean>();
  const [minutes, setMinutes] = useState("");
  const [labels, setLabels] = useState("");
  const [input, setInput] = useState<TypedInput>({});
  const begunInput = useMemo(() => initialInput(clone, template), [clone, template]);
  const asked = labels !== "" || Object.keys(input).length > 0;
  const other = typed !== opened.name || wait !== undefined || minutes !== "" || asked;
  return {
    name: typed ?? suggested ?? template?.deployment_name ?? nameFromTag(versions.byHand ?? ""),
    type,
    versions,
    waits: wait ?? template?.wait ?? false,
    setWait,
    minutes,
    setMinutes,
    labels,
    setLabels,
    input,
    begunInput,
    setInput: (name: string, text: string) => setInput((all) => ({ ...all, [name]: text })),
    /** Whether closing would lose anything. */
    dirty: other || versions.byHand !== undefined,
    named: typed !== undefined || versions.byHand !== undefined,
  };
}
