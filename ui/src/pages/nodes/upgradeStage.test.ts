import { expect, it } from "vitest";
import type { NodeInfo } from "@/api/client";
import { stageOf } from "./upgradeStage";

const at = (status: NodeInfo["status"], build?: string) => ({ status, build }) as NodeInfo;
const MINUTE = 60_000;

it("is wanted only where an agent of another release can be asked", () => {
  expect(stageOf(at("online", "1.2.0"), "1.2.0", undefined, 0)).toBe("none");
  expect(stageOf(at("online", "1.1.0"), "1.2.0", undefined, 0)).toBe("wanted");
  expect(stageOf(at("incompatible", "0.9.1"), "1.2.0", undefined, 0)).toBe("wanted");
  expect(stageOf(at("offline", "1.1.0"), "1.2.0", undefined, 0)).toBe("none");
});

it("goes on while the node is away, and is done when it runs this release", () => {
  expect(stageOf(at("incompatible", "1.1.0"), "1.2.0", 0, MINUTE)).toBe("goes");
  expect(stageOf(at("offline", "1.1.0"), "1.2.0", 0, MINUTE)).toBe("goes");
  expect(stageOf(at("online", "1.2.0"), "1.2.0", 0, MINUTE)).toBe("done");
});

it("says that the agent from before was taken back", () => {
  expect(stageOf(at("incompatible", "1.1.0"), "1.2.0", 0, 4 * MINUTE)).toBe("back");
});
