// Registries of the stories' own: one that stands before the real one and gives a layer piece by piece, and one with
// any number of tags.
import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { check } from "./browser.mjs";

const KIND = "application/vnd.oci.image.manifest.v1+json";
const LAYER = "application/vnd.oci.image.layer.v1.tar+gzip";
/** What the second tag has more than the first, in bytes. */
const BALLAST = 24e6;

const digestOf = (bytes) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

/** A tar with one file of so many random bytes, which no compression makes smaller. */
function archive(size) {
  const header = Buffer.alloc(512);
  const octal = (value, length) => value.toString(8).padStart(length - 1, "0");
  header.write("etc/ballast", 0);
  header.write(octal(0o644, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(size, 12), 124);
  header.write(octal(0, 12), 136);
  header.write("        0ustar\u000000", 148);
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${octal(sum, 7)}\u0000 `, 148);
  const padding = Buffer.alloc((512 - (size % 512)) % 512);
  return Buffer.concat([header, randomBytes(size), padding, Buffer.alloc(1024)]);
}

/** Manifests by tag and digest, and the blobs that are not the real registry's. */
async function built(repository, from) {
  const ask = async (path) => {
    const response = await fetch(`${repository}/${path}`, { headers: { Accept: KIND } });
    check(response.ok, `${repository}/${path} answered ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  };
  const first = await ask(`manifests/${from}`);
  const manifest = JSON.parse(first);
  const config = JSON.parse(await ask(`blobs/${manifest.config.digest}`));
  const tar = archive(BALLAST);
  const layer = gzipSync(tar, { level: 0 });
  config.rootfs.diff_ids.push(digestOf(tar));
  config.history?.push({ created_by: "a browser story" });
  const written = Buffer.from(JSON.stringify(config));
  Object.assign(manifest.config, { digest: digestOf(written), size: written.length });
  manifest.layers.push({ mediaType: LAYER, digest: digestOf(layer), size: layer.length });
  const second = Buffer.from(JSON.stringify(manifest));
  const manifests = { small: first, large: second };
  for (const one of [first, second]) manifests[digestOf(one)] = one;
  return { manifests, config: written, layer };
}

/** The head of an answer that a registry gives for something it knows by digest. */
function say(response, type, body) {
  response.writeHead(200, {
    "Content-Type": type,
    "Content-Length": body.length,
    "Docker-Content-Digest": digestOf(body),
  });
  return response;
}

/** Hears on a port of its own; gives its host and what ends it. */
async function hear(answer) {
  const server = createServer((request, response) => {
    Promise.resolve(answer(request, response)).catch(() => response.destroy());
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { host: `127.0.0.1:${server.address().port}`, close };
}

/**
 * Serves one image with any number of tags: `builds` says of each when, of which branch and commit it
 * was built. What is added to it later was pushed. Nothing of it can be pulled.
 */
export function serveTags(builds) {
  const known = new Map();
  const keep = (body) => known.set(digestOf(body), body) && body;
  const blob = (body) => ({ digest: digestOf(body), size: body.length });
  const manifestOf = ({ at, branch, commit }) => {
    const key = "org.opencontainers.image";
    const Labels = { [`${key}.ref.name`]: branch, [`${key}.revision`]: commit };
    const rootfs = { type: "layers", diff_ids: [] };
    const told = { architecture: "amd64", os: "linux", created: at, config: { Labels }, rootfs };
    const config = keep(Buffer.from(JSON.stringify(told)));
    const layers = [{ mediaType: LAYER, digest: digestOf("a layer"), size: 7_340_032 }];
    const mediaType = "application/vnd.oci.image.config.v1+json";
    const all = {
      schemaVersion: 2,
      mediaType: KIND,
      config: { mediaType, ...blob(config) },
      layers,
    };
    return keep(Buffer.from(JSON.stringify(all)));
  };
  return hear(({ url, method }, response) => {
    const [kind, what] = url.split("?")[0].split("/").slice(-2);
    const full = (type, body) => say(response, type, body).end(method === "HEAD" ? "" : body);
    if (kind === "tags")
      return full("application/json", Buffer.from(JSON.stringify({ tags: [...builds.keys()] })));
    const body = builds.has(what) ? manifestOf(builds.get(what)) : known.get(what);
    if (body) return full(kind === "manifests" ? KIND : "application/octet-stream", body);
    response.writeHead(url === "/v2/" ? 200 : 404).end();
  });
}

/** In pieces with air between: of what comes at once the engine tells the beginning only. */
async function drip(response, bytes) {
  const piece = 2 ** 20;
  for (let at = 0; at < bytes.length; at += piece) {
    response.write(bytes.subarray(at, at + piece));
    await new Promise((done) => setTimeout(done, 120));
  }
}

/**
 * Serves `image` as of tag `from` under two tags: small, and large, which has one more layer. Gives
 * its host, what lets the next third of that layer go (the first needs no leave), and what ends it all.
 */
export async function serve(image, from) {
  const host = process.env.NULLOPS_TEST_REGISTRY;
  check(host, "NULLOPS_TEST_REGISTRY says where the registry is; `make test` sets it");
  const { manifests, config, layer } = await built(`http://${host}/v2/${image}`, from);
  const leave = [];
  const given = [0, 1].map(() => new Promise((done) => leave.push(done)));
  const release = () => leave.shift()?.();
  const slowly = async (response) => {
    const third = BALLAST / 3;
    say(response, "application/octet-stream", layer);
    await drip(response, layer.subarray(0, third));
    await given[0];
    await drip(response, layer.subarray(third, 2 * third));
    await given[1];
    response.end(layer.subarray(2 * third));
  };
  const forward = async ({ url, method }, response) => {
    const found = await fetch(`http://${host}${url}`, { method, headers: { Accept: KIND } });
    const kept = ["content-type", "content-length", "docker-content-digest"];
    response.writeHead(
      found.status,
      [...found.headers].filter(([name]) => kept.includes(name)).flat(),
    );
    if (found.body && method !== "HEAD") Readable.fromWeb(found.body).pipe(response);
    else response.end();
  };
  const answer = (request, response) => {
    const [kind, what] = request.url.split("?")[0].split("/").slice(-2);
    const head = request.method === "HEAD";
    const full = (type, body) => say(response, type, body).end(head ? undefined : body);
    if (kind === "manifests" && manifests[what]) return full(KIND, manifests[what]);
    if (kind === "tags")
      return full("application/json", Buffer.from('{"name":"x","tags":["small","large"]}'));
    if (what === digestOf(config)) return full("application/octet-stream", config);
    if (what === digestOf(layer) && !head) return slowly(response);
    return forward(request, response);
  };
  const { host: own, close: end } = await hear(answer);
  const close = () => {
    for (const go of leave) go();
    end();
  };
  return { host: own, release, close };
}
