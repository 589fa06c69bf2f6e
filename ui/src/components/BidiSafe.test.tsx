import { render } from "@testing-library/react";
import { expect, it } from "vitest";
import { BidiSafe } from "./BidiSafe";

it("keeps what others wrote apart from what stands around it, and obeys nothing in it", () => {
  const { container } = render(
    <p>
      by <BidiSafe text={"\u202eevil\u001b[31mred\nsecond"} />: done
    </p>,
  );
  const isolated = container.querySelector("bdi");
  expect(isolated?.textContent).toBe("<U+202E>evilred\nsecond");
  expect(container.textContent).toBe("by <U+202E>evilred\nsecond: done");
});
