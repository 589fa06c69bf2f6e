import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, it } from "vitest";
import { keys } from "@/api/queries/admin";
import { me } from "@/api/queries/common";
import { sessions } from "@/api/queries/people";
import { listPageActions } from "@/components/pageActions";
import { DeleteButton } from "@/forms/DeleteButton";
import { FormSheet } from "@/forms/FormSheet";
import { TestStored } from "@/forms/TestStored";
import { useForm } from "@/forms/useForm";
import { auditTexts } from "@/pages/audit/auditTexts";
import { deployTexts } from "@/pages/deployTexts";
import { peopleTexts } from "@/pages/people/peopleTexts";
import { settingsTexts } from "@/pages/settings/settingsTexts";
import { texts } from "@/texts";
import { Password } from "../account/Password";
import { Sessions } from "../account/Sessions";
import { Export, Verify } from "../audit/ChainCheck";
import { SaveTemplate } from "../create/SaveTemplate";
import { SavedViews } from "../deployments/SavedViews";
import { Certificates } from "../settings/Certificates";
import { Keys } from "../settings/Keys";

// What the palette offers from the buttons of the pages: an act without its words there is found by nobody.

afterEach(cleanup);

/** The labels offered while this is shown. Nothing is asked of a server. */
function offersOf(shown: ReactNode): string[] {
  const cache = new QueryClient({
    defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY, enabled: false } },
  });
  const at = "2026-11-21T12:00:00Z";
  const session = (id: string) => ({ id, current: false, agent: "", address: "", used_at: at });
  cache.setQueryData(keys.queryKey, [
    { name: "a", present: true, primary: true, values: 1, uses: [] },
    { name: "b", present: true, primary: false, values: 1, uses: [] }, // something to reseal
  ]);
  cache.setQueryData(me.queryKey, { name: "mira", role: "admin" } as never);
  cache.setQueryData(sessions.queryKey, ["b", "c"].map(session) as never);
  cache.setQueryData(["certificates"], []);
  cache.setQueryData(["certificate-authority"], null);
  render(<QueryClientProvider client={cache}>{shown}</QueryClientProvider>);
  return listPageActions().map((one) => one.label);
}

function Sheet() {
  const form = useForm({ name: "shop" }, { save: async () => {}, saved: () => {} });
  const remove = (
    <DeleteButton name="shop" remove={async () => {}} done={() => {}}>
      gone
    </DeleteButton>
  );
  return (
    <FormSheet title="shop" form={form} onClose={() => {}} submit="Create project" extra={remove}>
      shop
    </FormSheet>
  );
}

const views = { views: [], full: false, save: () => {}, drop: () => {} };
const words = { test: "Test registry", testing: "", testFirst: "Save first" };
const idle = { isPending: false, error: null, mutate: () => {} };

const pages: [string, ReactNode, string[]][] = [
  ["a sheet of something defined", <Sheet key="1" />, ["Delete shop", "Create project"]],
  [
    "what can be tried",
    <TestStored key="2" test={idle} texts={words} dirty={false} unasked="">
      {null}
    </TestStored>,
    [words.test],
  ],
  [
    "one's account",
    <div key="3">
      <Password />
      <Sessions />
    </div>,
    [peopleTexts.account.passwordChange, peopleTexts.account.endOthers],
  ],
  ["master keys", <Keys key="4" />, [settingsTexts.keys.rotate]],
  [
    "certificates",
    <Certificates key="5" />,
    [settingsTexts.certificates.add, settingsTexts.certificates.make],
  ],
  [
    "the audit",
    <div key="6">
      <Verify />
      <Export search={{}} />
    </div>,
    [auditTexts.verify, auditTexts.exportAs("CSV"), auditTexts.exportAs("JSON lines")],
  ],
  [
    "the sheet that creates",
    <SaveTemplate key="7" project="shop" environment="qa" body={{} as never} />,
    [deployTexts.template.save],
  ],
  [
    "filters of the list",
    <SavedViews key="8" saved={views} filters={{ env: "qa" }} user="mira" />,
    [texts.list.saveView],
  ],
];

it.each(pages)("offers the acts of %s", (_, shown, labels) => {
  const said = offersOf(shown);
  expect(said).toEqual(expect.arrayContaining(labels));
});

it("offers what cannot be done with the reason its button gives", () => {
  offersOf(
    <TestStored test={idle} texts={words} dirty unasked="">
      {null}
    </TestStored>,
  );
  expect(listPageActions().find((one) => one.label === words.test)?.reason).toBe(words.testFirst);
});
