import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import guide from "../../../../docs/ingress.md?raw";
import { DnsRecord } from "./DnsRecord";

afterEach(cleanup);

it("shows the wildcard that the name server needs, and follows what is typed", () => {
  const { rerender } = render(<DnsRecord name="qa" domain="lab.example.com" />);
  expect(screen.getByText("*.qa.lab.example.com. 300 IN A ADDRESS-OF-THE-INGRESS")).toBeTruthy();
  expect(screen.getByRole("button", { name: /copy/i })).toBeTruthy();
  rerender(<DnsRecord name="staging" domain="corp.example" />);
  expect(screen.getByText(/^\*\.staging\.corp\.example\. /)).toBeTruthy();
  rerender(<DnsRecord name="qa" domain="localhost" />);
  expect(screen.queryByText(/IN A/)).toBeNull();
  expect(guide).toContain("*.qa.lab.example.com.  300 IN A");
});
