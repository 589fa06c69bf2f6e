import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, expect, it } from "vitest";
import { useStepKeys } from "./useStepKeys";

afterEach(cleanup);

const keys = ["db", "seed", "web"];

function Page() {
  const [chosen, choose] = useState("db");
  useStepKeys((by) => {
    const next = keys[keys.indexOf(chosen) + by];
    if (next) choose(next);
    return next;
  });
  return (
    <>
      <p role="status">{chosen}</p>
      <div data-steps>
        {keys.map((key) => (
          <button key={key} type="button" data-step={key}>
            {key}
          </button>
        ))}
      </div>
      <section aria-label="log">
        <button type="button">wrap</button>
      </section>
    </>
  );
}

it("leads from step to step, and leaves the arrows to what has the focus", async () => {
  render(<Page />);
  const chosen = () => screen.getByRole("status").textContent;
  await userEvent.keyboard("{ArrowDown}j{ArrowDown}");
  expect(chosen()).toBe("web");
  await userEvent.keyboard("k");
  expect(chosen()).toBe("seed");
  screen.getByRole("button", { name: "seed" }).focus();
  await userEvent.keyboard("{ArrowUp}");
  expect([chosen(), document.activeElement?.textContent]).toEqual(["db", "db"]);
  screen.getByRole("button", { name: "wrap" }).focus();
  await userEvent.keyboard("{ArrowDown}");
  expect(chosen()).toBe("db");
});
