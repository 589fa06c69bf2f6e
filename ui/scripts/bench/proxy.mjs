import { createServer, request } from "node:http";

/**
 * Stands in front of the product. `answers` maps a path (a pattern) to whoever answers it here; all
 * else is passed on. With `cookie` set, each request has it: for a browser that cannot sign in.
 */
export async function proxy(target, cookie) {
  const to = new URL(target);
  const answers = new Map();
  const server = createServer((req, res) => {
    const url = new URL(req.url, target);
    for (const [pattern, answer] of answers)
      if (req.method === "GET" && pattern.test(url.pathname)) return answer(req, res, url);
    const headers = { ...req.headers, host: to.host };
    if (headers.origin) headers.origin = to.origin;
    if (cookie) headers.cookie = cookie;
    const passed = request(
      { host: to.hostname, port: to.port, path: req.url, method: req.method, headers },
      (from) => {
        res.writeHead(from.statusCode, from.headers);
        from.pipe(res);
      },
    );
    passed.on("error", () => res.destroy());
    res.on("close", () => passed.destroy());
    req.pipe(passed);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://localhost:${server.address().port}`,
    answers,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Answers with JSON. */
export function json(res, body) {
  res.writeHead(200, { "Content-Type": "application/json", "Cache-Control": "no-store" });
  res.end(JSON.stringify(body));
}
