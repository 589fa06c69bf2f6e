import { expect, it } from "vitest";
import { isGoing, nameOfTrial, pipelineOf, withParameter } from "./testPipeline";

it("is a pipeline of the plugin alone, with the secrets that were chosen", () => {
  const given = { parameters: { tries: 3 }, secrets: { TOKEN: "API_TOKEN", OTHER: "" } };
  expect(pipelineOf("greet", given).steps).toEqual([
    {
      key: "try",
      needs: [],
      plugin: {
        name: "greet",
        parameters: { tries: 3 },
        secrets: { TOKEN: "${{ secrets.API_TOKEN }}" },
      },
    },
  ]);
});

it("leaves out a parameter that was emptied", () => {
  const set = withParameter({ url: "http://web" }, "plugin.parameters.tries", 0);
  expect(set).toEqual({ url: "http://web", tries: 0 });
  expect(withParameter(set, "plugin.parameters.url", undefined)).toEqual({ tries: 0 });
});

it("has a name that the API takes", () => {
  expect(nameOfTrial("a-plugin-with-a-long-name-indeed", 1e12)).toMatch(/^try-[a-z0-9-]{1,40}$/);
  expect(nameOfTrial("twenty-characters-xx-y", 1e12)).not.toContain("--");
});

it("offers no removal of what is gone, canceled included, or on its way", () => {
  const going = ["canceled", "removed", "forgotten", "removing", "undoing"] as const;
  expect(going.filter((status) => !isGoing(status))).toEqual([]);
  const there = ["queued", "applying", "ready", "failed", "stuck"] as const;
  expect(there.filter(isGoing)).toEqual([]);
});
