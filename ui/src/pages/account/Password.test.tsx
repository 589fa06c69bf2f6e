import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { me } from "@/api/queries/common";
import { Toasts } from "@/components/Toast";
import { Password } from "./Password";

afterEach(cleanup);

// A password manager offers the stored password only for the current one, and knows whose it is.
it("tells password managers which password each field takes", () => {
  const cache = new QueryClient();
  cache.setQueryData(me.queryKey, { name: "ada" } as never);
  render(
    <QueryClientProvider client={cache}>
      <Toasts>
        <Password />
      </Toasts>
    </QueryClientProvider>,
  );
  const all = [...document.querySelectorAll("form input")] as HTMLInputElement[];
  expect(all.map((one) => [one.autocomplete, one.value])).toEqual([
    ["username", "ada"],
    ["current-password", ""],
    ["new-password", ""],
    ["new-password", ""],
  ]);
  expect(screen.getAllByRole("textbox")).toHaveLength(1);
});
