import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { client, type Schemas } from "@/api/client";
import { Toasts } from "@/components/Toast";
import { settingsTexts } from "@/pages/settings/settingsTexts";
import { ScheduledBackups } from "./ScheduledBackups";

const t = settingsTexts.backups;

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

function show(list: Schemas["BackupList"]) {
  vi.spyOn(client, "GET").mockResolvedValue({ data: list, response: new Response() } as never);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Toasts>
        <ScheduledBackups />
      </Toasts>
    </QueryClientProvider>,
  );
}

it("says where backups go and how they ended, and makes one now", async () => {
  const post = vi
    .spyOn(client, "POST")
    .mockResolvedValue({ data: undefined, response: new Response() } as never);
  show({
    schedule: { target: "s3://backups/nullops/", every_hours: 24, keep: 14 },
    items: [
      { at: "2030-01-03T00:00:00Z", name: "nullops-2.backup", error: "the disk is full" },
      { at: "2030-01-02T00:00:00Z", name: "nullops-1.backup", bytes: 2048 },
    ],
  });
  expect(await screen.findByText("s3://backups/nullops/")).toBeTruthy();
  expect(screen.getByText("the disk is full")).toBeTruthy();
  expect(screen.getByText(t.verified)).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: t.start }));
  await waitFor(() => expect(post).toHaveBeenCalledExactlyOnceWith("/api/v1/backups"));
});

it("says what to set where none are made", async () => {
  show({ items: [] });
  expect(await screen.findByText(t.noSchedule)).toBeTruthy();
  expect(screen.queryByRole("button", { name: t.start })).toBeNull();
});
