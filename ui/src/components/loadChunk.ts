/**
 * Loads a lazy chunk, with up to three attempts. Browsers abort requests whenever a network
 * interface appears or goes, which a container engine on a developer's machine causes all the time.
 */
export async function loadChunk<T>(part: () => Promise<T>, wait = 300): Promise<T> {
  for (let left = 2; ; left--) {
    try {
      return await part();
    } catch (error) {
      if (left === 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}
