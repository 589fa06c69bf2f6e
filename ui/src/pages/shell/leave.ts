import { client } from "@/api/client";

/** Signs out. A fresh page follows: nothing that was read stays in memory. */
export async function signOut() {
  await client.DELETE("/api/v1/sessions/current").catch(() => undefined);
  window.location.assign("/sign-in");
}
