import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { act, cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it } from "vitest";
import { readListSearch } from "./listSearch";
import { useOpenSheet, useSheet } from "./useOpenSheet";

afterEach(cleanup);

function Page() {
  const { opened, close } = useOpenSheet();
  const { shown, show } = useSheet("trial");
  return (
    <>
      <p>{`${opened ?? "none"}, ${shown}`}</p>
      <button type="button" onClick={show}>
        show
      </button>
      <button type="button" onClick={close}>
        close
      </button>
    </>
  );
}

it("has another sheet of the page in its address, and takes it away with the entry's", async () => {
  const router = createRouter({
    routeTree: createRootRoute({ component: Page, validateSearch: readListSearch }),
    history: createMemoryHistory({ initialEntries: ["/?open=greet&sheet=trial"] }),
  });
  await act(async () => render(<RouterProvider router={router as never} />));
  screen.getByText("greet, true");
  await act(async () => router.history.push("/?open=greet"));
  await userEvent.click(screen.getByRole("button", { name: "show" }));
  await screen.findByText("greet, true");
  expect(router.history.location.href).toBe("/?open=greet&sheet=trial");
  await userEvent.click(screen.getByRole("button", { name: "close" }));
  await screen.findByText("none, false");
  expect(router.history.location.href).toBe("/");
});
