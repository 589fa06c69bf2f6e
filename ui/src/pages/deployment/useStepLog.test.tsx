import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import type { Step } from "@/api/client";
import { nothingWatched } from "@/api/run";
import { useStepLog, type Watch } from "./useDeploymentStream";

afterEach(cleanup);

const step = { run: 1, key: "seed", status: "done", lines: 2 } as unknown as Step;

it("says no more that a log could not be read, once it was read again", async () => {
  const read = vi.fn<Watch["read"]>();
  read.mockRejectedValueOnce(new Error("503")).mockRejectedValueOnce(new Error("504"));
  read.mockResolvedValue(undefined);
  const watch = {
    watched: nothingWatched,
    live: { kind: "live", since: 0 },
    read,
  } as unknown as Watch;
  const { result } = renderHook(() => useStepLog(watch, 1, step));
  const said = () => (result.current.error as Error | undefined)?.message;
  await waitFor(() => expect(said()).toBe("503"));
  act(() => result.current.again());
  await waitFor(() => expect(said()).toBe("504"));
  act(() => result.current.again());
  await waitFor(() => expect([said(), result.current.reading]).toEqual([undefined, false]));
  expect(read).toHaveBeenCalledTimes(3);
});
