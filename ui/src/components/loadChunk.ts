/**
 * Loads a part of the interface when it is needed. A browser drops what is under way whenever a network
 * interface comes or goes, as the container engine makes them on a developer's machine: so it is
 * asked for again, three times in all.
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
