import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { llmsText, pages, ROOT } from './pages.js'

// npm run docs                    builds the site into site/dist
// npm run docs -- --serve         builds it, and serves it at http://localhost:4173

const SITE = fileURLToPath(new URL('./', import.meta.url))
const source = join(SITE, '.cache', 'pages')
rmSync(source, { recursive: true, force: true })

const all = pages()
for (const [path, text] of all) write(path, text)
cpSync(join(SITE, 'home.md'), join(source, 'index.md'))
cpSync(join(ROOT, 'docs', 'images'), join(source, 'images'), { recursive: true })
cpSync(join(ROOT, 'docs', 'images'), join(source, 'public', 'images'), { recursive: true })
write('public/llms.txt', llmsText(all))
write('public/llms-full.txt', [...all.values()].join('\n\n'))
for (const [path, text] of all) write(`public/${path}`, text)

run('build', '--outDir', join(SITE, 'dist'))
if (process.argv.includes('--serve')) run('serve', '--outDir', join(SITE, 'dist'))

/** @param {string} path @param {string} text */
function write(path, text) {
  const file = join(source, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** @param {string} command @param {...string} args */
function run(command, ...args) {
  const vitepress = join(SITE, 'node_modules', 'vitepress', 'bin', 'vitepress.js')
  const { status } = spawnSync(process.execPath, [vitepress, command, SITE, ...args], { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
