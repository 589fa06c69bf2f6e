import { client, isNotFound, type Schemas } from "@/api/client";
import { readTagged, type Tagged } from "@/forms/etag";

export type Orders = Schemas["CertificateOrders"];
export const PATH = "/api/v1/environments/{name}/certificate-orders" as const;

/** Orders as they were read, with their tag; none is an answer, not a fault, and has no tag. */
export type Read = Tagged<Orders | null>;

/** How an environment orders certificates, and how that goes. */
export async function readOrders(name: string): Promise<Read> {
  try {
    return await readTagged<Orders>(client.GET(PATH, { params: { path: { name } } }));
  } catch (error) {
    if (isNotFound(error)) return { value: null, tag: "" };
    throw error;
  }
}
