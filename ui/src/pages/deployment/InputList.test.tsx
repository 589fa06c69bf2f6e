import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { Toasts } from "@/components/Toast";
import { InputList } from "./InputList";

afterEach(cleanup);

it("shows each value as it is, and nothing if there is none", () => {
  const { container, rerender } = render(<InputList input={{}} />);
  expect(container.textContent).toBe("");
  rerender(
    <Toasts>
      <InputList input={{ seed: "${{ x }}", rows: 7, debug: false }} />
    </Toasts>,
  );
  const shown = [...screen.getByRole("region", { name: "Input" }).querySelectorAll("dd")];
  expect(shown.map((one) => one.textContent)).toEqual(["${{ x }}", "7", "false"]);
});
