import { MutationObserver, onlineManager, QueryObserver } from "@tanstack/react-query";
import { afterEach, expect, it } from "vitest";
import { newQueryClient } from "./common";

afterEach(() => onlineManager.setOnline(true));

it("asks the server although the browser says that it is offline", async () => {
  onlineManager.setOnline(false);
  const client = newQueryClient(() => {});
  const act = new MutationObserver(client, { mutationFn: () => Promise.resolve("done") });
  await expect(act.mutate()).resolves.toBe("done");
  const read = new QueryObserver(client, {
    queryKey: ["a"],
    queryFn: () => Promise.resolve("read"),
  });
  expect((await read.refetch()).data).toBe("read");
});
