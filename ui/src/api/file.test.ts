// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { downloadFile } from "./file";

const saved: string[] = [];

beforeEach(() => {
  saved.length = 0;
  URL.createObjectURL = () => "blob:x";
  URL.revokeObjectURL = () => {};
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (
    this: HTMLAnchorElement,
  ) {
    saved.push(this.download);
  });
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  sessionStorage.clear();
});

function answers(response: Response) {
  const fetched = vi.fn(async (_: string, __: RequestInit) => response);
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

it("asks for a file through the same eyes as everything else", async () => {
  sessionStorage.setItem("nullops.view-as", "lena");
  const fetched = answers(new Response("id,seq\n"));
  await downloadFile("/api/v1/audit/export?format=csv", "audit.csv");
  expect(fetched.mock.calls[0]?.[1].headers).toEqual({ "X-Nullops-View-As": "lena" });
  expect(saved).toEqual(["audit.csv"]);
});

it("saves no refusal as the file", async () => {
  const body = JSON.stringify({ title: "No.", status: 403, code: "forbidden", request_id: "r" });
  answers(new Response(body, { status: 403 }));
  await expect(downloadFile("/x", "audit.csv")).rejects.toMatchObject({ status: 403 });
  expect(saved).toEqual([]);
});
