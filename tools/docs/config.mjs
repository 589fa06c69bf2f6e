// The site's configuration. It is served by a control plane below /docs, under a content security
// policy that allows no inline script and no inline style, and no other host.
import sidebar from './sidebar.mjs'

/** Code without colours: the highlighter writes inline styles, which the policy forbids. */
function plainCode(code) {
  const escaped = code.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return `<pre v-pre><code>${escaped}</code></pre>`
}

export default {
  title: 'NullOps',
  description: 'QA environments from pipelines: every feature gets its own',
  base: '/docs/',
  lang: 'en',
  cleanUrls: true,
  metaChunk: true,
  lastUpdated: false,
  // The defaults of settings are addresses, which the renderer takes for links.
  ignoreDeadLinks: 'localhostLinks',
  markdown: {
    // Angles and braces in the pages are text.
    html: false,
    highlight: plainCode,
    config: (md) => {
      md.renderer.rules.code_inline = (tokens, index) =>
        `<code v-pre>${md.utils.escapeHtml(tokens[index].content)}</code>`
      md.renderer.rules.text = (tokens, index) =>
        md.utils.escapeHtml(tokens[index].content).replaceAll('{{', '<span v-pre>{{</span>')
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Tutorial', link: '/tutorial' },
      { text: 'Reference', link: '/reference/commands' },
      { text: 'Open NullOps', link: '/../', target: '_self' },
    ],
    sidebar,
    docFooter: { prev: 'Before', next: 'Next' },
  },
}
