import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { ApiError, client, type NodeInfo } from "@/api/client";
import { nodeTexts } from "@/nodeTexts";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { SetUp } from "./SetUp";
import { signInAt, signInProblems, sshOf, whereOf } from "./sshForm";

const t = nodeTexts.ssh;
const m = machineTexts.ssh;

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const values = signInAt("10.0.0.4:5000");

it("names what is wrong before a machine is asked, and guesses nothing", () => {
  const said = (change: Partial<typeof values>, known = true) =>
    signInProblems({ ...values, password: "x", ...change }, known);
  expect(said({})).toEqual({});
  for (const port of ["22a", "0", "65536", "-1"])
    expect(said({ port })).toEqual({ port: m.portWrong });
  expect(said({ host: " " })).toEqual({ host: m.hostWrong });
  expect(said({ user: "" })).toEqual({ user: m.userWrong });
  expect(said({ password: "" })).toEqual({ password: m.credentialMissing });
  expect(said({ password: "" }, false)).toEqual({});
  expect(said({ password: "", key: "a key" })).toEqual({});
  expect(said({ data: "var/lib", run: "/a b", docker: "tcp://x", subnets: "10.0.0.0" })).toEqual({
    data: m.pathWrong,
    run: m.pathWrong,
    docker: m.pathWrong,
    subnets: m.rangeWrong,
  });
});

it("sends what was typed without spaces around it, and leaves out what was left empty", () => {
  const typed = { ...values, host: " m1 ", port: "2222", password: "x", data: "/srv/nullops " };
  expect(whereOf(typed)).toEqual({ host: "m1", port: 2222 });
  expect(sshOf({ ...typed, docker: "/run/docker.sock" }, "SHA256:abc")).toEqual({
    host: "m1",
    port: 2222,
    user: "root",
    password: "x",
    host_key: "SHA256:abc",
    forget: true,
    install_docker: true,
    data: "/srv/nullops",
    docker: "unix:///run/docker.sock",
  });
});

const node = { name: "fra-01", address: "10.0.0.4:5000" } as NodeInfo;

function show() {
  render(
    <QueryClientProvider client={new QueryClient()}>
      <SetUp node={node} close={() => undefined} />
    </QueryClientProvider>,
  );
}

it("asks nobody with a wrong port, and says a refusal at its field", async () => {
  const post = vi.spyOn(client, "POST").mockImplementation((async (path: string) => {
    if (path === "/api/v1/ssh-host-key")
      return { data: { kind: "ssh-ed25519", fingerprint: "SHA256:abc" }, response: new Response() };
    const problem = { title: "", status: 400, field: "subnets", detail: "That range is taken." };
    throw new ApiError(400, problem as never);
  }) as never);
  show();
  // The sheet takes the focus a moment later: what is typed before would be lost.
  const sheet = screen.getByRole("dialog");
  await waitFor(() => expect(sheet.contains(document.activeElement)).toBe(true));
  const port = screen.getByLabelText(t.port);
  fireEvent.change(port, { target: { value: "22a" } });
  await userEvent.click(screen.getByRole("button", { name: t.look }));
  await screen.findByText(m.portWrong);
  expect(post).not.toHaveBeenCalled();
  fireEvent.change(port, { target: { value: "22" } });
  await userEvent.click(screen.getByRole("button", { name: t.look }));
  const confirm = await screen.findByRole("button", { name: t.confirm });
  await userEvent.click(confirm);
  await screen.findByText(m.credentialMissing);
  expect(post).toHaveBeenCalledTimes(1);
  await userEvent.type(screen.getByLabelText(t.password), "secret");
  await userEvent.click(confirm);
  // It is about a field in the fold, which opens.
  await screen.findByText("That range is taken.");
  await waitFor(() => expect(screen.getByText(m.advanced).closest("details")?.open).toBe(true));
});
