// Builds the documentation site from docs/ into ui/docs, which the product embeds.
//
//   node tools/docs/build.mjs
//
// Every page is there twice: as HTML, and as the Markdown that it was made of. llms.txt lists the
// latter for programs that read them.
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'vitepress'
import sidebar from './sidebar.mjs'
import { sayTested } from './tested.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '..', '..')
const source = join(here, '.build', 'src')
const out = join(root, 'ui', 'docs')

// Pages of other folders that belong to the site.
const others = { 'deploy/README.md': 'install.md', 'CONTRIBUTING.md': 'contributing.md', 'ui/README.md': 'ui.md' }
// Pages that a reader comes to from elsewhere.
const unlisted = ['index.md']

/** All files below a folder, by their paths there. */
function list(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath ?? entry.path, entry.name)))
}

/** The page's text for the site: no comments, and links to files of the repository as plain code. */
function adapt(text, from, to) {
  const withoutComments = text.replace(/<!--[\s\S]*?-->\n*/g, '')
  return withoutComments.replace(/\[((?:[^\]\\]|\\.)*)\]\(([^)\s]+)\)/g, (whole, words, target) => {
    if (/^[a-z]+:/.test(target) || target.startsWith('#')) return whole
    const [path, anchor] = target.split('#')
    const file = posix.normalize(posix.join(posix.dirname(from), path))
    const place = file.startsWith('docs/') ? file.slice('docs/'.length) : others[file]
    if (!place || !/\.(md|png)$/.test(place) || !existsSync(join(root, file))) return words
    const link = posix.relative(posix.dirname(to), place) + (anchor ? `#${anchor}` : '')
    return `[${words}](${link.startsWith('.') ? link : `./${link}`})`
  })
}

function prepare() {
  rmSync(join(here, '.build'), { recursive: true, force: true })
  const pages = new Map()
  for (const name of list(join(root, 'docs'))) {
    if (name.endsWith('.md')) pages.set(name, `docs/${name}`)
  }
  for (const [from, to] of Object.entries(others)) pages.set(to, from)
  for (const [to, from] of pages) {
    const place = join(source, to)
    mkdirSync(dirname(place), { recursive: true })
    const text = adapt(readFileSync(join(root, from), 'utf8'), from, to)
    writeFileSync(place, `${text.trimEnd()}\n\n---\n\n*${sayTested(from)}*\n`)
  }
  cpSync(join(root, 'docs/screenshots'), join(source, 'screenshots'), {
    recursive: true,
    filter: (file) => !file.includes('pages'),
  })
  mkdirSync(join(source, '.vitepress', 'theme'), { recursive: true })
  for (const file of ['config.mjs', 'sidebar.mjs']) cpSync(join(here, file), join(source, '.vitepress', file))
  cpSync(join(here, 'theme'), join(source, '.vitepress', 'theme'), { recursive: true })
  return [...pages.keys()].sort()
}

/** Every page is listed, and every listed page exists. */
function checkSidebar(pages) {
  const listed = sidebar.flatMap((group) => group.items.map((item) => `${item.link.slice(1)}.md`))
  const missing = pages.filter((page) => !listed.includes(page) && !unlisted.includes(page))
  const gone = listed.filter((page) => !pages.includes(page))
  if (missing.length > 0) throw new Error(`tools/docs/sidebar.mjs does not list ${missing.join(', ')}`)
  if (gone.length > 0) throw new Error(`tools/docs/sidebar.mjs lists pages that do not exist: ${gone.join(', ')}`)
}

/** Inline scripts become files: the content security policy of the product allows no others. */
function moveScripts(site) {
  const scripts = new Map()
  for (const name of list(site).filter((file) => file.endsWith('.html'))) {
    const page = readFileSync(join(site, name), 'utf8')
    const changed = page.replace(/<script( id="[^"]*")?>([\s\S]*?)<\/script>/g, (_, id, code) => {
      // The name changes with the content: files of assets/ are cached for ever.
      const hash = createHash('sha256').update(code).digest('hex').slice(0, 10)
      if (!scripts.has(code)) scripts.set(code, `assets/inline.${hash}.js`)
      return `<script src="/docs/${scripts.get(code)}"></script>`
    })
    if (/<script(?![^>]* src=)/.test(changed)) throw new Error(`${name} has an inline script`)
    writeFileSync(join(site, name), changed)
  }
  for (const [code, name] of scripts) writeFileSync(join(site, name), code)
}

/** The first sentence of a page, below its title. */
function summary(text) {
  const paragraph = text.split('\n\n').find((part) => /^[A-Z`*[]/.test(part)) ?? ''
  return paragraph.replaceAll('\n', ' ').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').split(/(?<=\.) /)[0]
}

function writeMarkdown(pages, site) {
  const lines = ['# NullOps', '', '> QA environments from pipelines: every feature gets its own.', '']
  for (const group of sidebar) {
    lines.push(`## ${group.text}`, '')
    for (const item of group.items) {
      const text = readFileSync(join(source, `${item.link.slice(1)}.md`), 'utf8')
      lines.push(`- [${item.text}](/docs${item.link}.md): ${summary(text)}`)
    }
    lines.push('')
  }
  writeFileSync(join(site, 'llms.txt'), lines.join('\n'))
  for (const page of pages) cpSync(join(source, page), join(site, page))
}

/** Large files are there compressed too, and only so in the binary where that is smaller. */
function compress(site) {
  for (const name of list(site).filter((file) => /\.(html|js|css|md|txt)$/.test(file))) {
    const text = readFileSync(join(site, name))
    rmSync(join(site, name))
    writeFileSync(join(site, `${name}.gz`), gzipSync(text, { level: 9 }))
  }
}

const pages = prepare()
checkSidebar(pages)
await build(source)
const site = join(source, '.vitepress', 'dist')
moveScripts(site)
writeMarkdown(pages, site)
compress(site)
rmSync(out, { recursive: true, force: true })
cpSync(site, out, { recursive: true })
writeFileSync(join(out, '.gitkeep'), '')
rmSync(join(here, '.build'), { recursive: true, force: true })
const size = list(out).length
console.log(`docs: ${pages.length} pages, ${size} files in ui/docs`)
