import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { MENU } from '../menu.js'
import { pages, titleOf } from '../pages.js'

const all = pages()

export default defineConfig({
  title: 'Chronos',
  description: 'A durable job system for Node.js, built around what happens when a job fails',
  srcDir: '.cache/pages',
  cacheDir: fileURLToPath(new URL('../.cache/vite', import.meta.url)),
  cleanUrls: true,
  lastUpdated: false,
  markdown: { theme: { light: 'github-light', dark: 'github-dark' } },
  srcExclude: ['public/**'],
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Tutorial', link: '/tutorial' },
      { text: 'Recipes', link: '/recipes' },
      { text: 'Command line', link: '/cli' },
      { text: 'REST API', link: '/api' },
      { text: 'Changelog', link: '/changelog' },
    ],
    sidebar: MENU.map(({ text, pages: names }) => ({
      text,
      items: names.map(name => ({ text: titleOf(all.get(`${name}.md`) ?? ''), link: `/${name}` })),
    })),
    socialLinks: [{ icon: 'github', link: 'https://github.com/chronos-jobs/chronos' }],
  },
})
