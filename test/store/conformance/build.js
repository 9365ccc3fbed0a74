import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

// The compiler keeps the folders of the repository; the package has the suite beside the modules of `src`.
const root = new URL('../../../', import.meta.url)
const output = new URL('.cache/conformance/', root)
const compiled = new URL('test/store/conformance/', output)
const shipped = new URL('dist/conformance/', root)

rmSync(shipped, { recursive: true, force: true })
for (const path of readdirSync(compiled, { recursive: true, encoding: 'utf8' })) {
  if (!/\.(js|d\.ts)$/.test(path)) continue
  const name = path.replaceAll('\\', '/')
  const text = readFileSync(new URL(name, compiled), 'utf8')
  mkdirSync(new URL('.', new URL(name, shipped)), { recursive: true })
  writeFileSync(new URL(name, shipped), text.replace(/(['"])((?:\.\.\/)*)(?:\.\.\/){3}src\//g, '$1$2../'))
}
rmSync(output, { recursive: true })
