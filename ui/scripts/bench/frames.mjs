/** The value that so many percent are not above. */
export function percentile(values, percent) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil((percent / 100) * sorted.length) - 1)];
}

export const round = (value) => Math.round(value * 10) / 10;

/**
 * Begins to take frame times: from the event that a frame answers to the moment when the page's
 * thread has laid it out and painted it, in ms. Frames that answer nothing are not counted. For what
 * is drawn in the same frame; see `workOf` for what React draws in its own time.
 */
export async function watchFrames(page, event) {
  await page.evaluate((name) => {
    window.frames = [];
    let since;
    const after = new MessageChannel();
    after.port1.onmessage = () => {
      if (since !== undefined) window.frames.push(performance.now() - since);
      since = undefined;
    };
    const seen = () => {
      if (since !== undefined) return;
      since = performance.now();
      requestAnimationFrame(() => after.port2.postMessage(0));
    };
    window.addEventListener(name, seen, { capture: true, passive: true });
  }, event);
}

export const framesOf = (page) => page.evaluate(() => window.frames);

/**
 * What the page's thread works for each such event while `act` runs, in ms: scripts, layout and
 * paint, whenever they come. Above 16.7 ms it cannot answer 60 in a second. For what React draws in
 * its own time, after the frame in which the event came.
 */
export async function workFor(browser, page, event, act) {
  await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline"] });
  let trace;
  try {
    await act();
  } finally {
    // The next row begins one of its own, whatever became of this.
    trace = await browser.stopTracing();
  }
  const { traceEvents } = JSON.parse(trace.toString());
  const events = traceEvents.filter(
    ({ name, args }) => name === "EventDispatch" && args.data?.type === event,
  );
  const { pid, tid } = events[0];
  const tasks = traceEvents.filter(
    (one) => one.name === "ThreadControllerImpl::RunTask" && one.pid === pid && one.tid === tid,
  );
  // The task in which an event comes began before it.
  const begun = events.map(({ ts }) => tasks.findLast((task) => task.ts <= ts).ts);
  return begun.slice(1).map((to, i) => {
    const between = tasks.filter(({ ts }) => ts >= begun[i] && ts < to);
    return between.reduce((sum, { dur }) => sum + dur / 1000, 0);
  });
}

/** The rows of a frame measurement. */
export function frameRows(id, what, frames, target = 16.7) {
  if (frames.length < 30) throw new Error(`only ${frames.length} frames were seen`);
  return [
    {
      id,
      what: `${what}, p95 of ${frames.length} frames`,
      value: round(percentile(frames, 95)),
      unit: "ms",
      target: `≤ ${target} ms`,
      met: percentile(frames, 95) <= target,
      median: round(percentile(frames, 50)),
      p99: round(percentile(frames, 99)),
    },
  ];
}

/** What the page's scripts hold after a collection, in MB. */
export async function heap(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize / 1e6;
}
