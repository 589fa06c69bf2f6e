// When each page was last tested: what it says of commands is run by tests, and which of them are
// the pages' own is below. A page that has changed since says so.
//
//   node tools/docs/tested.mjs               runs these tests, and writes docs/tested.json
//   node tools/docs/tested.mjs --say PAGE    prints what the page says of itself
//
// 'make docs-tested' does the former with the database that the tests need.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const file = join(root, 'docs', 'tested.json')
const elsewhere = ['deploy/README.md', 'CONTRIBUTING.md', 'ui/README.md']

const sumOf = (text) => createHash('sha256').update(text).digest('hex').slice(0, 16)
const tested = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).pages : {}

/** The sentence at the end of a page, which is named from the top of the repository. */
export function sayTested(page) {
  const last = tested[page]
  if (!last) return 'Not tested yet: this page is new.'
  const date = new Date(`${last.date}T00:00:00Z`).toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  })
  return sumOf(readFileSync(join(root, page))) === last.sum
    ? `Last tested on ${date}.`
    : `Changed since it was last tested, on ${date}.`
}

function listPages() {
  const docs = readdirSync(join(root, 'docs'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)))
  return [...docs, ...elsewhere].sort()
}

function runTests() {
  const run = (...args) => execFileSync('tools/run', args, { cwd: root, stdio: 'inherit' })
  run('prose')
  const packages = ['./cmd/nullops', './cmd/nullops/internal/server', './controlplane/api', './pipeline/compose']
  // What holds docs/tested.json itself needs it first.
  run('gotest', '-run', '^(TestDocs|TestContract)', '-skip', 'SayWhenTheyWereTested', ...packages)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === '--say') {
    console.log(sayTested(process.argv[3]))
  } else {
    const sums = listPages().map((page) => [page, sumOf(readFileSync(join(root, page)))])
    runTests()
    const date = new Date().toISOString().slice(0, 10)
    const pages = Object.fromEntries(sums.map(([page, sum]) => [page, { sum, date }]))
    writeFileSync(file, `${JSON.stringify({ pages }, null, 1)}\n`)
    console.log(`docs: ${sums.length} pages were tested, see docs/tested.json`)
  }
}
