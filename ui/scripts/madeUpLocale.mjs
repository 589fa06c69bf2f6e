// Translations that nobody wrote: each text of the catalogue changed by a rule, so that a build in another language
// can be looked at before there is one. Used by e2e/locales.mjs, and by `node scripts/madeUpLocale.mjs FOLDER [rtl]`.
import { readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, loadConfigFromFile, mergeConfig } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Accents on each letter, and words a third longer, as German has them. */
export const ACCENTS = {
  lang: "qps",
  dir: "ltr",
  formats: "ja-JP",
  letters: "áƀçđéƒǧħíĵķłɱñóƥɋřšŧúṽŵẋýž",
};
/** Letters of a script that is written from right to left. */
export const RIGHT_TO_LEFT = {
  lang: "he",
  dir: "rtl",
  formats: "he-IL",
  letters: "אבגדהוזחטיכלמנסעפצקרשתךםןף",
};

/** Catalogues and formats, as whoever imports them writes it, or as the alias leads there. */
const MODULE = /(?:^@\/|\/src\/)((?:[\w-]+\/)*(?:texts|locale|\w+Texts))(?:\.ts)?$/;
const MADE_UP = "\0made-up:";

/** Changes strings wherever they are in a catalogue, and what its functions return, but not what they are given. */
const SPEAK = `
const letters = LETTERS, more = MORE;
const hidden = (i) => String.fromCharCode(0xe000 + i);
function change(text) {
  // What people copy into a terminal is in no language.
  if (/^(nullops |NULLOPS_)/.test(text)) return text;
  return text.replace(/[a-z]+/gi, (word) => {
    const said = [...word].map((c) => [...letters][c.toLowerCase().charCodeAt(0) - 97] ?? c).join("");
    return more && word.length > 3 ? said + said.slice(-1).repeat(Math.ceil(word.length / 3)) : said;
  });
}
export function speak(value) {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map(speak);
  if (typeof value === "function")
    return (...given) => {
      const kept = [];
      const hide = (one) => {
        if (typeof one === "string" && one !== "") return hidden(kept.push(one) - 1);
        return Array.isArray(one) ? one.map(hide) : one;
      };
      const said = speak(value(...given.map(hide)));
      return typeof said === "string"
        ? said.replace(/[\\ue000-\\uf8ff]/g, (sign) => kept[sign.charCodeAt(0) - 0xe000] ?? sign)
        : said;
    };
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, speak(part)]));
  return value;
}`;

/** The vite plugin that puts a made-up locale in place of the English one. */
function madeUp({ lang, dir, formats, letters }) {
  const speak = SPEAK.replace("LETTERS", JSON.stringify(letters)).replace("MORE", dir === "ltr");
  return {
    name: "made-up-locale",
    enforce: "pre",
    resolveId(id, importer) {
      if (id === `${MADE_UP}speak`) return id;
      const path =
        id.startsWith(".") && importer ? fileURLToPath(new URL(id, pathToFileURL(importer))) : id;
      const [, name] = MODULE.exec(path) ?? [];
      if (!name || id.includes("node_modules") || importer?.startsWith(MADE_UP)) return undefined;
      return `${MADE_UP}${name}`;
    },
    load(id) {
      if (id === `${MADE_UP}speak`) return speak;
      if (!id.startsWith(MADE_UP)) return undefined;
      const name = id.slice(MADE_UP.length);
      if (name === "locale")
        return `export const dateLocale = ${JSON.stringify(formats)};\nexport const locale = dateLocale;`;
      const file = `${root}src/${name}.ts`;
      const text = readFileSync(file, "utf8");
      const names = [...text.matchAll(/^export const (\w+)/gm)];
      return [
        `import * as english from ${JSON.stringify(file)};`,
        `import { speak } from ${JSON.stringify(`${MADE_UP}speak`)};`,
        // What a module works out of its texts stays as it is: an export by name comes before these.
        `export * from ${JSON.stringify(file)};`,
        ...names.map(([, one]) => `export const ${one} = speak(english.${one});`),
      ].join("\n");
    },
    transformIndexHtml: (html) =>
      html.replace('<html lang="en">', `<html lang="${lang}" dir="${dir}">`),
  };
}

/** Builds the interface in a made-up locale into a folder. */
export async function buildMadeUp(locale, outDir) {
  const file = `${root}vite.config.ts`;
  const found = await loadConfigFromFile({ command: "build", mode: "production" }, file, root);
  const { test: _, ...own } = found.config;
  await build(
    mergeConfig(own, {
      configFile: false,
      root,
      logLevel: "error",
      plugins: [madeUp(locale)],
      build: { outDir, emptyOutDir: true },
    }),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , folder, kind] = process.argv;
  await buildMadeUp(kind === "rtl" ? RIGHT_TO_LEFT : ACCENTS, folder);
}
