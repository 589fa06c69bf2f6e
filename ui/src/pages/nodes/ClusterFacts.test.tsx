import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { client, type NodeInfo, type Schemas } from "@/api/client";
import { Toasts } from "@/components/Toast";
import { machineTexts } from "@/pages/nodes/machineTexts";
import { Enrolled } from "./AddNode";
import { engineName } from "./ClusterFacts";
import { MachineFacts } from "./MachineFacts";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const t = machineTexts.cluster;

const machine: Schemas["Inventory"] = {
  hostname: "fra-01",
  os: "Debian",
  kernel: "6.1",
  arch: "amd64",
  engine_version: "28.5.1",
  api_version: "1.51",
  cpu: 4,
  memory: 2 ** 33,
  disk: 2 ** 36,
};

const cluster: Schemas["Inventory"] = {
  ...machine,
  hostname: "10.96.0.1",
  engine_version: "Kubernetes v1.34.3",
  cluster: {
    version: "v1.34.3",
    network: "Calico",
    machine_count: 3,
    machines: [
      { name: "a", state: "ready", version: "v1.34.3", cpu: 4, memory: 2 ** 33 },
      {
        name: "b",
        state: "not_ready",
        version: "v1.33.1",
        cpu: 4,
        memory: 2 ** 33,
        detail: "gone",
      },
    ],
    storage_classes: [{ name: "fast", provisioner: "disk", default: true }],
  },
};

const node = (inventory?: Schemas["Inventory"]): NodeInfo => ({
  name: "fra-01",
  environment: "qa",
  address: "10.20.4.14:5000",
  status: "online",
  since: "2026-11-21T12:00:00Z",
  enabled: true,
  revocation_pending: false,
  allocated: {},
  deployments: 0,
  settings: { disk_floor_mib: 2048 },
  inventory,
});

it("says what a node runs on", () => {
  expect(engineName(undefined)).toBe("");
  expect(engineName(machine)).toBe("Docker 28.5.1");
  expect(engineName(cluster)).toBe("Kubernetes 1.34.3");
});

it("describes a cluster in its own terms, and says what does not apply to it", () => {
  const { container } = render(<MachineFacts node={node(cluster)} />);
  const text = container.textContent ?? "";
  for (const part of [
    "Kubernetes 1.34.3",
    "Calico",
    "fast",
    t.isDefault,
    t.states.not_ready,
    "gone",
  ])
    expect(text).toContain(part);
  expect(text).toContain(t.more(1));
  expect(text).toContain(t.withoutWhat);
  expect(text).not.toContain("Docker");
  expect(text).not.toContain("6.1");
  expect(text).not.toContain("2 GiB");
});

it("lets an admin give up a machine that does not answer, and no other", async () => {
  const post = vi.spyOn(client, "POST").mockResolvedValue({
    data: { services: 2 },
    response: new Response(),
  } as never);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Toasts>
        <MachineFacts node={node(cluster)} />
      </Toasts>
    </QueryClientProvider>,
  );
  expect(screen.getAllByRole("button")).toHaveLength(1);
  await userEvent.click(screen.getByRole("button", { name: t.giveUp.of("b") }));
  expect(screen.getByRole("dialog").textContent).toContain(t.giveUp.body);
  await userEvent.click(screen.getByRole("button", { name: t.giveUp.act }));
  expect(post).toHaveBeenCalledWith("/api/v1/nodes/{name}/machines/{machine}/give-up", {
    params: { path: { name: "fra-01", machine: "b" } },
  });
  expect(await screen.findByText(t.giveUp.done(2))).toBeTruthy();
  expect(screen.queryByRole("dialog")).toBeNull();
});

it("describes a machine as before", () => {
  const { container } = render(<MachineFacts node={node(machine)} />);
  const text = container.textContent ?? "";
  for (const part of ["28.5.1", "Docker", "6.1"]) expect(text).toContain(part);
  expect(text).not.toContain(t.withoutWhat);
});

it("shows the line for a machine, or the two for a cluster", async () => {
  vi.spyOn(client, "GET").mockReturnValue(new Promise(() => undefined) as never);
  const enrolment: Schemas["NodeEnrolment"] = {
    node: node(),
    token: "nopa1_x",
    command: "docker run it",
    kubernetes: { helm: "helm it", kubectl: "kubectl it" },
  };
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Enrolled enrolment={enrolment} close={() => undefined} instead={() => undefined} />
    </QueryClientProvider>,
  );
  expect(screen.getByText("docker run it")).toBeTruthy();
  expect(screen.getByText(/^docker exec nullops-agent/)).toBeTruthy();
  expect(screen.getByRole("button", { name: machineTexts.ssh.instead })).toBeTruthy();
  await userEvent.click(screen.getByRole("combobox", { name: new RegExp(t.kind) }));
  await userEvent.click(await screen.findByRole("option", { name: t.kubernetes }));
  expect(screen.getByText("helm it")).toBeTruthy();
  expect(screen.getByText("kubectl it")).toBeTruthy();
  expect(screen.queryByText("docker run it")).toBeNull();
  expect(screen.getByText(/^kubectl --namespace nullops-\S+ exec/)).toBeTruthy();
  expect(screen.queryByText(/^docker exec/)).toBeNull();
  expect(screen.queryByRole("button", { name: machineTexts.ssh.instead })).toBeNull();
});
