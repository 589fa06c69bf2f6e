import { refusalOf } from "./client";
import { viewingHeaders } from "./viewAs";

/**
 * Reads a file of the API and hands it to the browser to save. A plain link can't say through whose
 * eyes it asks, and a refusal of it is only a download that failed. It may take as long as it takes.
 */
export async function downloadFile(address: string, name: string): Promise<void> {
  const response = await fetch(address, { headers: viewingHeaders() });
  if (!response.ok) throw await refusalOf(response);
  save(await response.blob(), name);
}

/** Hands a file to the browser to save. */
export function save(file: Blob, name: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
